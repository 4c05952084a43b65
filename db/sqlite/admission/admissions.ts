/** Admission: verdict and effect happen in memory in one turn of the event loop; the rows are written by group commit. */
import {
  type AccountUse,
  type Admissions,
  type Claim,
  type Judgement,
  judgeClaim,
  type KeySpending,
  type Refusal,
  type Repeated,
  type Settlement,
  type Use,
  type Verdict,
} from '#domain/admission.ts'
import type { Catalogues, Stale } from '#domain/catalogue.ts'
import {
  type Clock,
  DAY_MS,
  dayOf,
  type Instant,
  later,
  MINUTE_MS,
  monthStart,
} from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { RaisedEvent } from '#domain/event.ts'
import type { AccountId, EpochId, KeyId } from '#domain/id.ts'
import { keyNotFound, keyStatus } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { DEFAULT_NOTICE_SETTINGS } from '#domain/notice-settings.ts'
import { NO_QUOTA, type QuotaReading, readWindow, type WindowReadings } from '#domain/window.ts'
import { judgeMark, type MarkChange } from '../../rows/low-balance.ts'
import { chargedBeyondHold } from '../../rows/mark-events.ts'
import type { Connection } from '../engine/connection.ts'
import { toStoreError, unavailable } from '../engine/disk.ts'
import { isWaiting } from '../engine/group-commit.ts'
import { statement } from '../engine/statement.ts'
import type { NoteUse } from '../keys/keys.ts'
import { prepareDaySpends, prepareKeyDaySpends } from '../money/day-spends.ts'
import { prepareSpendReader } from '../money/spend-reader.ts'
import type { HeldNoticeSettings } from '../outbox/notice-settings.ts'
import { type CeilingWords, ceilingEvents } from './ceiling-marks.ts'
import type { HotEndUser } from './end-users.ts'
import {
  type HotAccount,
  type HotKey,
  type HotState,
  isAccountRead,
  type OpenHold,
} from './hot-state.ts'
import { countTokens, type HotUse, isMarkPassed } from './hot-use.ts'
import { STEP_MS } from './periods.ts'
import type { Repeats } from './repeats.ts'
import type { WindowReader } from './window-reader.ts'
import type { Writer } from './writer.ts'

/**
 * How often the windows are read for one question. Two that were asked before and after the clock was set give up what was read
 * for the other; the next are by one clock.
 */
const MOST_READS = 8

const steppedAgain = (): GatewayError =>
  new GatewayError('store_unavailable', 'the clock is being set: try again', {
    retryAfterSeconds: 1,
  })

/** Time that passes while they are read is no step of the clock. @throws store_unavailable, what `find` throws */
async function withWindows<Hot>(
  clock: Clock,
  at: Instant,
  {
    find,
    isRead,
    read,
  }: {
    find(now: Instant): Hot
    isRead(hot: Hot): boolean
    read(hot: Hot, now: Instant): Promise<void>
  },
): Promise<Hot> {
  const startedMs = clock.monotonicMs()
  for (let reads = 0; reads < MOST_READS; reads++) {
    const now = later(at, clock.monotonicMs() - startedMs)
    const hot = find(now)
    if (isRead(hot)) return hot
    await read(hot, now)
  }
  throw steppedAgain()
}

export function createAdmissions(
  connection: Connection,
  hotState: HotState,
  writer: Writer,
  windows: WindowReader,
  repeats: Repeats,
  noteUse: NoteUse,
  catalogue: Catalogues,
  noticeSettings: HeldNoticeSettings,
  ended: ReadonlySet<EpochId>,
): Omit<Admissions, 'renew' | 'expire' | 'trim'> {
  const { commit, clock } = connection
  const readSpend = prepareSpendReader(connection)

  const requireKey = (id: KeyId, at: Instant): HotKey => {
    const hot = hotState.key(id, at)
    if (!hot) throw keyNotFound(id)
    return hot
  }

  /** The key with its windows, for reading only: other turns may pass before it resolves. @throws store_unavailable */
  const requireKeyWithWindows = (id: KeyId, at: Instant): Promise<HotKey> =>
    withWindows(clock, at, {
      find: (now) => requireKey(id, now),
      isRead: hotState.isRead,
      read: hotState.read,
    })

  const admitNow = (claim: Claim, hot: HotKey): Verdict | Repeated => {
    const { keyId, repeat, at, owner } = claim
    // Looked up, and taken below, in the turn of its hold: nobody else runs it meanwhile.
    const repetition = repeat && repeats.find(keyId, repeat, at)
    if (repetition) return { admitted: false, refusal: null, repetition }
    const endUser = hotState.endUser(claim, hot)
    const { grant, refusal } = judge(commit, claim, hot, endUser)
    if (refusal) return { admitted: false, quota: readQuota(hot, claim.at), grant, refusal }
    // Its process has died while it waited: nobody would ever settle it.
    if (ended.has(owner.epoch)) throw unavailable()
    // Deferred: a hold that is lost in a crash was never charged either.
    const hold = hotState.take(claim, grant, hot, endUser)
    if (repeat !== null) repeats.began(hold)
    hold.rowWrite = commit.defer(writer.hold, hold)
    noteUse(hot, claim.at)
    return { admitted: true, quota: readQuota(hot, claim.at), grant }
  }

  const isStale = (claim: Claim): boolean => claim.catalogue !== catalogue.current().version

  /** Verdict and reservation in one turn; null where the key's windows have to be read first. */
  const admitIfRead = (claim: Claim): Verdict | Repeated | Stale | null => {
    if (isStale(claim)) return 'stale'
    const hot = requireKey(claim.keyId, claim.at)
    return hotState.isRead(hot) ? admitNow(claim, hot) : null
  }

  /** Stale, too, where reading took so long that the claim would pass for one of a clock that was set back. */
  const admitWithWindows = async (claim: Claim): Promise<Verdict | Repeated | Stale> => {
    const startedMs = clock.monotonicMs()
    for (let reads = 0; reads < MOST_READS; reads++) {
      await hotState.read(requireKey(claim.keyId, claim.at), claim.at)
      if (clock.monotonicMs() - startedMs >= STEP_MS / 2) return 'stale'
      const verdict = admitIfRead(claim)
      if (verdict !== null) return verdict
    }
    return 'stale'
  }

  return {
    async judge(claim) {
      const hot = await requireKeyWithWindows(claim.keyId, claim.at)
      if (isStale(claim)) return 'stale'
      const { grant, refusal } = judge(commit, claim, hot, hotState.endUser(claim, hot))
      const quota = readQuota(hot, claim.at)
      return refusal ? { admitted: false, quota, grant, refusal } : { admitted: true, quota, grant }
    },

    async admit(claim) {
      try {
        return admitIfRead(claim) ?? (await admitWithWindows(claim))
      } catch (thrown) {
        throw toStoreError(thrown)
      }
    },

    settle: prepareSettle(connection, hotState, writer, repeats, noticeSettings),

    async quota(ids, at) {
      // All in this turn: to a key that was asked later in the meantime, this instant would be a clock that was set back.
      const found = ids.map((id) => requireKey(id, at))
      const readings: WindowReadings[] = []
      for (const hot of found) {
        const read = hotState.isRead(hot) ? hot : await requireKeyWithWindows(hot.key.id, at)
        readings.push(readWindows(read, read.key.limits, at))
      }
      return readings
    },

    async spending(ids, at) {
      return ids.map((id) => readSpending(requireKey(id, at)))
    },

    async usage(keyId, at) {
      const hot = await requireKeyWithWindows(keyId, at)
      return { ...(await countUse(windows, hot, at)), ...readSpending(hot) }
    },

    accountUse: prepareAccountUse(hotState, clock),

    async spend(at) {
      commit.flush()
      return readSpend(null, dayOf(at), monthStart(dayOf(at)))
    },
    spendByDay: prepareDaySpends(connection),
    spendByKey: prepareKeyDaySpends(connection),
  }
}

function judge(
  commit: Connection['commit'],
  claim: Claim,
  hot: HotKey,
  endUser: HotEndUser | null,
): Judgement {
  const trouble = commit.trouble()
  if (trouble !== null) throw unavailable(trouble)
  const judged = judgeClaim(claim, hot, endUser)
  const inactive = judgeState(claim, hot)
  return inactive === null ? judged : { grant: judged.grant, refusal: inactive }
}

const readSpending = (hot: HotKey): KeySpending => ({
  spendDay: hot.daySpend.spent,
  spendMonth: hot.monthSpend.spent,
  reserved: hot.held,
  requestsInProgress: hot.inProgress,
})

const countUse = async (windows: WindowReader, hot: HotKey, at: Instant) => {
  const { key, minute, day, tokens } = hot
  return {
    requestsMinute: minute?.count(at) ?? (await windows.count(key.id, MINUTE_MS, at)),
    requestsDay: day?.count(at) ?? (await windows.count(key.id, DAY_MS, at)),
    tokensMinute: tokens?.used(at) ?? (await countTokens(windows.ofKey(key.id), hot, at)),
  }
}

/** The key may have been revoked between its look-up and this claim. */
function judgeState({ at }: Claim, { key }: HotKey): Refusal | null {
  if (keyStatus(key, at) === 'active') return null
  return {
    code: 'key_revoked',
    limit: 'status',
    limitValue: 'active',
    used: keyStatus(key, at),
    resetsAt: null,
    retryAfterSeconds: null,
  }
}

const readQuota = ({ key, minute, day }: HotKey, at: Instant): QuotaReading =>
  minute === null && day === null
    ? NO_QUOTA
    : {
        minute: readWindow(minute, key.limits.rpm, at),
        day: readWindow(day, key.limits.rpd, at),
      }

const readWindows = (
  { minute, day, tokens }: Use,
  { rpm, rpd, tpm }: Limits,
  at: Instant,
): WindowReadings => ({
  minute: readWindow(minute, rpm, at),
  day: readWindow(day, rpd, at),
  tokens: readWindow(tokens, tpm, at),
})

function prepareAccountUse(hotState: HotState, clock: Clock): Admissions['accountUse'] {
  const requireWithWindows = (id: AccountId, at: Instant): Promise<HotAccount> =>
    withWindows(clock, at, {
      find: (now) => hotState.accountAt(id, now),
      isRead: isAccountRead,
      read: hotState.readAccount,
    })
  return async (ids, at) => {
    // All in this turn, as `quota` does.
    const found = ids.map((id) => hotState.accountAt(id, at))
    const uses: AccountUse[] = []
    for (const one of found) {
      uses.push(usedOf(isAccountRead(one) ? one : await requireWithWindows(one.id, at), at))
    }
    return uses
  }
}

const usedOf = ({ use, limits, inProgress }: HotAccount, at: Instant): AccountUse => ({
  ...(use === null ? NO_QUOTA : readWindows(use, limits, at)),
  requestsInProgress: inProgress,
  spendDay: use?.daySpend.spent ?? null,
  spendMonth: use?.monthSpend.spent ?? null,
})

/** What is written of a request that ended. */
interface Ended {
  readonly hold: OpenHold
  readonly hot: HotKey | undefined
  readonly settlement: Settlement
  readonly amount: UsdNanos
  readonly change: MarkChange | null
  readonly events: readonly RaisedEvent[] | null
}

function prepareSettle(
  { commit, database, syncCharges }: Connection,
  hotState: HotState,
  writer: Writer,
  repeats: Repeats,
  noticeSettings: HeldNoticeSettings,
): Admissions['settle'] {
  const accountName = statement<{ name: string }, [AccountId]>(
    database,
    'SELECT name FROM accounts WHERE id = ?',
  )
  const words: CeilingWords = {
    // A charge is not lost with a page that cannot be read.
    percents: () =>
      readOr(
        DEFAULT_NOTICE_SETTINGS.ceilingPercents,
        () => noticeSettings.current().ceilingPercents,
      ),
    accountName: (id) => readOr(id, () => accountName().get(id)?.name ?? id),
  }

  const write = ({ hold, hot, settlement, amount, change, events }: Ended): void => {
    const { claim, account, day, endUser } = hold
    const { at, charge, activity, answer } = settlement
    if (hold.rowWrite?.state === 'committed') writer.release(claim.generationId)
    if (charge) writer.charge(hold, charge, at)
    if (change) writer.mark(change)
    if (events) for (const event of events) writer.raise(event)
    // In the transaction of its charge: a kill leaves both or neither.
    if (answer) writer.show(answer)
    writer.spend(claim.keyId, day, amount, endUser === null ? null : endUser.name)
    if (hot?.account !== account) writer.stay(account.id, claim.keyId, day, amount)
    // A key that was moved while its request arrived is paid for where it was admitted.
    const isItsOwn = activity.accountId === account.id
    writer.activity(isItsOwn ? activity : { ...activity, accountId: account.id }, claim.at)
  }

  return async (id, settlement) => {
    const { at, charge } = settlement
    const amount = charge === null ? NO_MONEY : charge.amount
    const hold = hotState.resolve(id, { spent: amount, usage: settlement.activity.usage })
    if (!hold) return false
    const change = judgeDebit(hold, amount, at)
    const hot = hotState.loaded(hold.claim.keyId)
    const events = judgeEvents(hold, hot, settlement, amount, words)
    const isAlone = hotState.open.size === 0
    const written = commit.push(write, { hold, hot, settlement, amount, change, events }, isAlone)
    try {
      while (isWaiting(written)) await commit.over()
    } finally {
      if (hold.claim.repeat !== null) repeats.ended(hold)
    }
    if (syncCharges) await commit.synced()
    return true
  }
}

function readOr<T>(usual: T, read: () => T): T {
  try {
    return read()
  } catch {
    return usual
  }
}

/** Judged in the turn that changed the balance, so that only one of many concurrent debits notifies. */
function judgeDebit(
  { account: { id, threshold, balance } }: OpenHold,
  amount: UsdNanos,
  at: Instant,
): MarkChange | null {
  if (threshold === null || amount === NO_MONEY) return null
  const change = judgeMark(id, threshold, balance, 'debit', at)
  if (change) threshold.mark = change.mark
  return change
}

/** Whom this charge is told to; null for nobody, nearly always. */
function judgeEvents(
  hold: OpenHold,
  hot: HotKey | undefined,
  { at, activity }: Settlement,
  amount: UsdNanos,
  words: CeilingWords,
): readonly RaisedEvent[] | null {
  if (amount === NO_MONEY) return null
  const ceilings =
    hot !== undefined && passesMark(hold, hot) ? ceilingEvents(hold, hot, words, at) : null
  const { claim, grant } = hold
  if (amount <= grant.hold) return ceilings
  const { provider, model } = activity
  const beyond = chargedBeyondHold({
    ...claim,
    provider,
    model,
    held: grant.hold,
    charged: amount,
    at,
  })
  return [beyond, ...(ceilings ?? [])]
}

/** A few comparisons, for every charge. */
const passesMark = ({ account: { use }, endUser }: OpenHold, hot: HotKey): boolean =>
  isUsePassed(hot) ||
  (use !== null && isUsePassed(use)) ||
  // On another day its ceiling is another one.
  (endUser?.day === hot.today && isMarkPassed(endUser.daySpend))

const isUsePassed = ({ daySpend, monthSpend }: HotUse): boolean =>
  isMarkPassed(daySpend) || isMarkPassed(monthSpend)
