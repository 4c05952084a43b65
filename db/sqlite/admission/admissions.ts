/** Admission: verdict and effect happen in memory in one turn of the event loop; the rows are written by group commit. */
import {
  type Admissions,
  type Claim,
  type Judgement,
  judgeClaim,
  type KeySpending,
  type Refusal,
  type Repeated,
  type Standing,
  type Verdict,
} from '#domain/admission.ts'
import type { Catalogues } from '#domain/catalogue.ts'
import { DAY_MS, dayOf, type Instant, MINUTE_MS, monthStart } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import { keyStatus } from '#domain/key.ts'
import { NO_QUOTA, type QuotaReading, readWindow } from '#domain/window.ts'
import type { Connection } from '../engine/connection.ts'
import { toStoreError, unavailable } from '../engine/disk.ts'
import type { NoteUse } from '../keys/keys.ts'
import { prepareDaySpends } from '../money/day-spends.ts'
import { prepareSpendReader } from '../money/spend-reader.ts'
import type { HotEndUser } from './end-users.ts'
import type { HotAccount, HotKey, HotState } from './hot-state.ts'
import type { Repeats } from './repeats.ts'
import { prepareSettle } from './settle.ts'
import type { WindowReader } from './window-reader.ts'
import type { Writer } from './writer.ts'

export function createAdmissions(
  connection: Connection,
  hotState: HotState,
  writer: Writer,
  windows: WindowReader,
  repeats: Repeats,
  noteUse: NoteUse,
  catalogue: Catalogues,
): Omit<Admissions, 'renew' | 'expire'> {
  const { commit } = connection
  const readSpend = prepareSpendReader(connection)
  const spendByDay = prepareDaySpends(connection)

  const requireKey = (id: KeyId, at: Instant): HotKey => {
    const hot = hotState.key(id, at)
    if (!hot) throw new GatewayError('key_not_found', `there is no key ${id}`)
    return hot
  }

  /** The key with its windows, for reading only: other turns may pass before it resolves. */
  const requireKeyWithWindows = async (id: KeyId, at: Instant): Promise<HotKey> => {
    const hot = requireKey(id, at)
    if (hot.hasWindows) return hot
    await hotState.readWindows(hot, at)
    return requireKeyWithWindows(id, at)
  }

  const judge = (claim: Claim, hot: HotKey, endUser: HotEndUser | null): Judgement => {
    const trouble = commit.trouble()
    if (trouble !== null) throw unavailable(trouble)
    const judged = judgeClaim(claim, toStanding(hot, endUser, hotState.account(claim.accountId)))
    const inactive = judgeState(claim, hot)
    return inactive === null ? judged : { grant: judged.grant, refusal: inactive }
  }

  const admitNow = (claim: Claim, hot: HotKey): Verdict | Repeated => {
    const { keyId, repeat, at } = claim
    const repetition = repeat && repeats.find(keyId, repeat, at)
    if (repetition) return { admitted: false, refusal: null, repetition }
    const endUser = hotState.endUser(claim, hot)
    const { grant, refusal } = judge(claim, hot, endUser)
    if (refusal) return { admitted: false, quota: readQuota(hot, claim.at), grant, refusal }
    // Deferred: a hold that is lost in a crash was never charged either.
    const hold = hotState.take(claim, grant.hold, hot, endUser)
    repeats.began(hold)
    hold.rowWrite = commit.defer(writer.hold, hold)
    noteUse(hot, claim.at)
    return { admitted: true, quota: readQuota(hot, claim.at), grant }
  }

  const isStale = (claim: Claim): boolean => claim.catalogue !== catalogue.current().version

  return {
    async judge(claim) {
      const hot = await requireKeyWithWindows(claim.keyId, claim.at)
      if (isStale(claim)) return 'stale'
      const { grant, refusal } = judge(claim, hot, hotState.endUser(claim, hot))
      const quota = readQuota(hot, claim.at)
      return refusal ? { admitted: false, quota, grant, refusal } : { admitted: true, quota, grant }
    },

    async admit(claim) {
      try {
        for (;;) {
          // Anew after each wait, so that verdict and reservation happen in one turn.
          if (isStale(claim)) return 'stale'
          const hot = requireKey(claim.keyId, claim.at)
          if (hot.hasWindows) return admitNow(claim, hot)
          await hotState.readWindows(hot, claim.at)
        }
      } catch (thrown) {
        throw toStoreError(thrown)
      }
    },

    settle: prepareSettle(connection, hotState, writer, repeats),

    async quota(keyId, at) {
      return readQuota(await requireKeyWithWindows(keyId, at), at)
    },

    async spending(ids, at) {
      return ids.map((id) => readSpending(requireKey(id, at)))
    },

    async usage(keyId, at) {
      const hot = await requireKeyWithWindows(keyId, at)
      return { ...(await countRequests(windows, hot, at)), ...readSpending(hot) }
    },

    async spend(at) {
      commit.flush()
      return readSpend(null, dayOf(at), monthStart(dayOf(at)))
    },
    spendByDay,
  }
}

const readSpending = (hot: HotKey): KeySpending => ({
  spendDay: hot.daySpend.spent,
  spendMonth: hot.monthSpend.spent,
  reserved: hot.held,
  requestsInProgress: hot.inProgress,
})

const countRequests = async (windows: WindowReader, { key, minute, day }: HotKey, at: Instant) => ({
  requestsMinute: minute?.count(at) ?? (await windows.count(key.id, MINUTE_MS, at)),
  requestsDay: day?.count(at) ?? (await windows.count(key.id, DAY_MS, at)),
})

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

const toStanding = (hot: HotKey, endUser: HotEndUser | null, account: HotAccount): Standing => ({
  limits: hot.key.limits,
  minute: hot.minute,
  day: hot.day,
  inProgress: hot.inProgress,
  daySpend: hot.daySpend,
  monthSpend: hot.monthSpend,
  endUser,
  balance: account.balance,
  accountHeld: account.held,
})

const readQuota = ({ key, minute, day }: HotKey, at: Instant): QuotaReading =>
  minute === null && day === null
    ? NO_QUOTA
    : {
        minute: readWindow(minute, key.limits.rpm, at),
        day: readWindow(day, key.limits.rpd, at),
      }
