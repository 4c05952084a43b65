/** The hot state of keys and accounts: what admission needs, cached in memory and rebuilt from the tables. */
import type { Account } from '#domain/account.ts'
import type { Claim, Grant, OpenAdmission } from '#domain/admission.ts'
import { UNKNOWN_MARK } from '#domain/ceiling-marks.ts'
import { type Day, dayOf, type Instant, MINUTE_MS, monthStart } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { isUsedUp, type Limits } from '#domain/limits.ts'
import { addUsd, NO_MONEY, subtractUsd, type UsdNanos } from '#domain/money.ts'
import type { Window } from '#domain/window.ts'
import { TransientMap } from '#runtime/short-lived.ts'
import { fromInteger } from '../../rows/amount.ts'
import { type FoundKeyRow, KEY_COLUMNS, toKey } from '../../rows/key-row.ts'
import { toLimits } from '../../rows/limits-column.ts'
import {
  type HotThreshold,
  type ThresholdRow,
  toHotThreshold,
  toMark,
  toThreshold,
} from '../../rows/low-balance.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { drop, type Pending } from '../engine/group-commit.ts'
import { statement } from '../engine/statement.ts'
import { giveUpSums, prepareReadSums, type SharedUse, takeSums, unreadUse } from './account-use.ts'
import {
  carryMinutes,
  type EndUsers,
  type HotEndUser,
  prepareEndUsers,
  type RecentEndUsers,
  remember,
  takeMinutes,
} from './end-users.ts'
import {
  addHold,
  endHold,
  forgetUseMarks,
  type Held,
  type HotUse,
  isReadByClock,
  keepWindows,
  type Outcome,
  readWindows,
  releaseUse,
  reserveUse,
  startUse,
  takeWindows,
} from './hot-use.ts'
import { type Periods, preparePeriods } from './periods.ts'
import type { WindowReader } from './window-reader.ts'

/** Keys whose state is kept in memory; an idle one beyond it is rebuilt when it is used again. */
const MAX_HOT_KEYS = 20_000

export interface HotKey extends HotUse {
  key: ApiKey
  account: HotAccount
  inProgress: number
  lastUsedAt: Instant | null
  /** The value in the table. */
  useWrittenAt: Instant | null
  /** The sum of its holds, over all days. */
  held: UsdNanos
  /** Of today; null until a request names an end user. */
  recentEndUsers: RecentEndUsers | null
  /** Of other days, while requests are in progress that were admitted on them. */
  otherEndUsers: readonly RecentEndUsers[]
  /** Windows per end user as read from the log, without later requests. Null while the key limits no end-user rate. */
  endUserMinutes: ReadonlyMap<string, Window> | null
}

export interface HotAccount {
  readonly id: AccountId
  limits: Limits
  /** Null while the account has no limit that is used up: then nothing is counted. */
  use: SharedUse | null
  balance: UsdNanos
  held: UsdNanos
  inProgress: number
  /** Null while the account wants no notices. */
  threshold: HotThreshold | null
}

/** An admission in progress. */
export interface OpenHold extends Held {
  /** That of its key at its admission, which pays. */
  readonly account: HotAccount
  readonly endUser: HotEndUser | null
  /** The deferred write of its row, dropped if it is resolved first. */
  rowWrite: Pending | null
}

export interface HotState {
  readonly open: TransientMap<GenerationId, OpenHold>
  /** Undefined when there is no such key. Its windows may have to be read: see `isRead`. */
  key(id: KeyId, at: Instant): HotKey | undefined
  /** Whether the windows of the key and of its account are read, and what that has spent. */
  isRead(hot: HotKey): boolean
  /** Reads them in slices; other requests are served meanwhile. */
  read(hot: HotKey, at: Instant): Promise<void>
  /** The cached state of a key, if any. */
  loaded(id: KeyId): HotKey | undefined
  account(id: AccountId): HotAccount
  /** The same on the day of an instant. Its windows and sums may have to be read: see `isAccountRead`. */
  accountAt(id: AccountId, at: Instant): HotAccount
  readAccount(account: HotAccount, at: Instant): Promise<void>
  /** Replaces a changed key; its windows follow the new limits. What it has spent stays in the account where it was charged. */
  replace(before: ApiKey, after: ApiKey): void
  /** The shares at which is told have changed: the marks of every ceiling are found out again. */
  forgetMarks(): void
  /** The same for an account. */
  replaceAccount(account: Pick<Account, 'id' | 'limits'>): void
  /** What an operator has moved of one: its balance, or the threshold of it. */
  noteMovement(id: AccountId, balance: UsdNanos, threshold: HotThreshold | null): void
  /** The end user that a claim names, as it would be counted; null where it names none. */
  endUser(claim: Claim, hot: HotKey): HotEndUser | null
  take(claim: Claim, grant: Grant, hot: HotKey, endUser: HotEndUser | null): OpenHold
  /** Goes on with one whose row is written. Undefined where its key is gone. */
  adopt(admission: OpenAdmission, at: Instant): OpenHold | undefined
  /** Releases slot and hold, and counts what became of them. Undefined if it was resolved before. */
  resolve(id: GenerationId, outcome: Outcome): OpenHold | undefined
  /** A copy of the current sums. */
  copySums(): LiveSums
}

/** Starts with nothing loaded; every key and account is read from the tables when it is first used. */
export function startHotState(connection: Connection, windows: WindowReader): HotState {
  const { commit } = connection
  const endUsers = prepareEndUsers(connection)
  const hotKeys = new Map<KeyId, HotKey>()
  const hotAccounts = new Map<AccountId, HotAccount>()
  const open = new TransientMap<GenerationId, OpenHold>()
  const periods = preparePeriods(connection)
  const reader = prepareReader(connection, windows)

  const account = prepareHotAccounts(connection, hotAccounts, open)
  const readHotKey = prepareHotKeyReader(connection, periods, account, open)
  const find = prepareFind(hotKeys, commit, readHotKey, periods)

  return {
    open,
    account,
    accountAt(id, at) {
      const found = account(id)
      if (found.use !== null) periods.turnAccount(found.use, at)
      return found
    },
    readAccount: (found, at) => reader.account(found, at),
    key: find,
    isRead: ({ hasWindows, account }) => hasWindows && isAccountRead(account),
    read: (hot, at) => reader.key(hot, at),
    loaded: (id) => hotKeys.get(id),
    replace(before, after) {
      const hot = hotKeys.get(after.id)
      if (hot) replaceKey(hot, after, account)
      if (after.accountId !== before.accountId)
        giveUpReading(hotAccounts.get(before.accountId), hotAccounts.get(after.accountId))
    },
    replaceAccount({ id, limits }) {
      const hot = hotAccounts.get(id)
      if (hot) setLimits(hot, limits, open)
      for (const one of hotKeys.values()) {
        if (one.key.accountId === id) one.key = { ...one.key, accountLimits: limits }
      }
    },
    noteMovement(id, balance, threshold) {
      const hot = hotAccounts.get(id)
      if (hot) Object.assign(hot, { balance, threshold })
    },
    forgetMarks: () => forgetAllMarks(hotKeys.values(), hotAccounts.values()),
    endUser({ endUser }, hot) {
      if (endUser === null) return null
      hot.recentEndUsers ??= endUsers.loadRecent(hot.key.id, hot.today)
      return endUsers.find(hot.recentEndUsers, hot.key, endUser, hot.endUserMinutes)
    },
    take(claim, grant, hot, endUser) {
      const { account, today: day, thisMonth: month } = hot
      const hold = { claim, grant, account, day, month, endUser, outcome: null, rowWrite: null }
      reserve(hot.account, hot.account.use, hold)
      reserve(hot, hot, hold)
      if (endUser !== null && hot.recentEndUsers !== null)
        reserveEndUser(hot.recentEndUsers, endUser, hold)
      open.set(claim.generationId, hold)
      return hold
    },
    adopt(admission, at) {
      const hot = find(admission.claim.keyId, at)
      return hot && adopt(open, admission, hot, account(admission.accountId), endUsers)
    },
    resolve(id, outcome) {
      const hold = open.take(id)
      if (!hold) return undefined
      hold.outcome = outcome
      // Resolved before its row was written: the row is not needed.
      if (hold.rowWrite) drop(hold.rowWrite)
      const { account } = hold
      release(account, account.use, hold, outcome)
      account.balance = subtractUsd(account.balance, outcome.spent)
      const hot = hotKeys.get(hold.claim.keyId)
      if (hot) release(hot, hot, hold, outcome)
      if (hot && hot.account !== account) giveUpReading(account, hot.account)
      if (hold.endUser) releaseEndUser(hold.endUser, hold, outcome.spent)
      return hold
    },
    copySums: () => copyLiveSums(hotAccounts, hotKeys, open),
  }
}

/** The state of a key at an instant, read from the tables when it is first asked for. */
function prepareFind(
  hotKeys: Map<KeyId, HotKey>,
  commit: Connection['commit'],
  read: HotState['key'],
  periods: Periods,
): HotState['key'] {
  const load: HotState['key'] = (id, at) => {
    const hot = read(id, at)
    if (!hot) return undefined
    // What the disk refused so far is in memory only.
    if (hotKeys.size >= MAX_HOT_KEYS && commit.writable) evictIdle(hotKeys)
    hotKeys.set(id, hot)
    return hot
  }
  return (id, at) => {
    const hot = hotKeys.get(id) ?? load(id, at)
    if (hot) periods.turn(hot, at)
    return hot
  }
}

/** Of a hold whose row is there. */
const WRITTEN: Pending = {
  write: () => {},
  what: undefined as never,
  state: 'committed',
  reason: null,
}

/** Windows are read from the rows when they are first asked for, and so is what the account has used. */
function adopt(
  open: TransientMap<GenerationId, OpenHold>,
  admission: OpenAdmission,
  hot: HotKey,
  account: HotAccount,
  endUsers: EndUsers,
): OpenHold {
  const { day, countedAs } = admission
  const endUser = countedAs === null ? null : adoptEndUser(endUsers, hot, countedAs, day)
  const hold = { ...admission, account, endUser, outcome: null, rowWrite: WRITTEN }
  reserve(account, null, hold)
  reserve(hot, null, hold)
  const amount = hold.grant.hold
  if (day === hot.today) addHold(hot.daySpend, amount)
  if (hold.month === hot.thisMonth) addHold(hot.monthSpend, amount)
  if (endUser !== null) {
    endUser.inProgress++
    addHold(endUser.daySpend, amount)
  }
  open.set(admission.claim.generationId, hold)
  return hold
}

function adoptEndUser(endUsers: EndUsers, hot: HotKey, name: string, day: Day): HotEndUser {
  if (day !== hot.today) return { ...NO_END_USER, name, day, daySpend: noSpend() }
  hot.recentEndUsers ??= endUsers.loadRecent(hot.key.id, day)
  const user = endUsers.find(hot.recentEndUsers, hot.key, name, null)
  remember(hot.recentEndUsers, user)
  return user
}

const NO_END_USER = { isCounted: true, minute: null, inProgress: 0 }

const noSpend = () => ({ spent: NO_MONEY, held: NO_MONEY, mark: UNKNOWN_MARK })

/** What the next one who opens the store is told of it. */
export const toOpenAdmission = ({
  claim,
  grant,
  account,
  day,
  month,
  endUser,
}: OpenHold): OpenAdmission => ({
  claim,
  grant,
  accountId: account.id,
  day,
  month,
  countedAs: endUser?.name ?? null,
})

export const isAccountRead = ({ use }: HotAccount): boolean =>
  use === null || (use.hasWindows && use.hasSums)

/** Reads what is missing, of a key and its account, or of an account. Other turns pass meanwhile: what was read may have been given up again. */
function prepareReader(connection: Connection, windows: WindowReader) {
  const readSums = prepareReadSums(connection)
  const account = async (one: HotAccount, at: Instant): Promise<void> => {
    const { use } = one
    if (use === null || isAccountRead(one)) return
    await once(use, () => readOfAccount(windows, readSums, one, use, at))
  }
  return {
    account,
    async key(hot: HotKey, at: Instant): Promise<void> {
      if (!hot.hasWindows) await once(hot, () => readOfKey(windows, hot, at))
      await account(hot.account, at)
    },
  }
}

/** One read at a time. */
const once = (use: HotUse, read: () => Promise<void>): Promise<void> => {
  use.loadingWindows ??= read().finally(() => {
    use.loadingWindows = null
  })
  return use.loadingWindows
}

async function readOfKey(windows: WindowReader, hot: HotKey, at: Instant): Promise<void> {
  const { id, limits } = hot.key
  const [read, endUserMinutes] = await Promise.all([
    readWindows(windows.ofKey(id), hot, limits, at),
    limits.endUserRpm === null ? null : windows.readByEndUser(id, MINUTE_MS, at),
  ])
  // The limits changed meanwhile, so the windows must be read again.
  if (hot.key.limits !== limits) return
  const isByClock = isReadByClock(hot)
  takeMinutes(hot, endUserMinutes && carryMinutes(hot, endUserMinutes, at, isByClock))
  takeWindows(hot, read, at)
}

async function readOfAccount(
  windows: WindowReader,
  readSums: ReturnType<typeof prepareReadSums>,
  account: HotAccount,
  use: SharedUse,
  at: Instant,
): Promise<void> {
  const { id, limits } = account
  const [read, sums] = await Promise.all([
    use.hasWindows ? null : readWindows(windows.ofAccount(id), use, limits, at),
    use.hasSums ? null : readSums(id, use),
  ])
  if (account.use !== use) return
  if (read !== null && account.limits === limits) takeWindows(use, read, at)
  if (sums !== null) takeSums(use, sums)
}

/** Its use is read when it is next asked for. */
const startShared = (account: HotAccount, open: OpenHolds): SharedUse =>
  unreadUse(() =>
    account.inProgress === 0 ? [] : holdsOf(open, (hold) => hold.account === account),
  )

type OpenHolds = Iterable<[GenerationId, OpenHold]>

function* holdsOf(open: OpenHolds, isMeant: (hold: OpenHold) => boolean): Generator<OpenHold> {
  for (const [, hold] of open) if (isMeant(hold)) yield hold
}

function setLimits(account: HotAccount, limits: Limits, open: OpenHolds): void {
  const before = account.limits
  account.limits = limits
  if (!isUsedUp(limits)) account.use = null
  else if (account.use === null) account.use = startShared(account, open)
  else {
    keepWindows(account.use, before, limits)
    forgetUseMarks(account.use)
  }
}

function replaceKey(hot: HotKey, key: ApiKey, account: HotState['account']): void {
  const { limits, accountId } = hot.key
  keepWindows(hot, limits, key.limits)
  // Windows per end user keep every request of the minute, so that a changed limit needs no read.
  hot.hasWindows &&= limits.endUserRpm !== null || key.limits.endUserRpm === null
  hot.key = key
  forgetMarks(hot)
  if (key.accountId !== accountId) hot.account = account(key.accountId)
}

/** A key, or a charge of one that was moved, has passed between these: what is being read of either may have it twice, or not at all. */
function giveUpReading(...accounts: readonly (HotAccount | undefined)[]): void {
  for (const one of accounts) if (one?.use && !one.use.hasSums) giveUpSums(one.use)
}

/** Rebuilds a key's hot state, but for its windows; called only while none of its requests is in progress. */
function prepareHotKeyReader(
  { commit, database, clock }: Connection,
  periods: Periods,
  account: HotState['account'],
  open: OpenHolds,
) {
  const find = statement<FoundKeyRow, [KeyId]>(
    database,
    `SELECT ${KEY_COLUMNS} FROM keys WHERE id = ?`,
  )
  return (id: KeyId, at: Instant): HotKey | undefined => {
    commit.flush()
    const row = find().get(id)
    if (row === null) return undefined
    const key = toKey(row)
    return periods.read(toHotKey(key, account(key.accountId), at, clock.monotonicMs(), open))
  }
}

function toHotKey(
  key: ApiKey,
  account: HotAccount,
  at: Instant,
  nowMs: number,
  open: OpenHolds,
): HotKey {
  const holds = (): Iterable<Held> =>
    hot.inProgress === 0 ? [] : holdsOf(open, ({ claim }) => claim.keyId === key.id)
  const hot: HotKey = {
    ...startUse(at, nowMs, dayOf(at), monthStart(dayOf(at)), holds),
    key,
    account,
    inProgress: 0,
    lastUsedAt: key.lastUsedAt,
    useWrittenAt: key.lastUsedAt,
    held: NO_MONEY,
    recentEndUsers: null,
    otherEndUsers: [],
    endUserMinutes: null,
  }
  return hot
}

/** An account as it was loaded before, or is read now. */
function prepareHotAccounts(
  connection: Connection,
  hotAccounts: Map<AccountId, HotAccount>,
  open: OpenHolds,
): HotState['account'] {
  const read = prepareHotAccountReader(connection)
  return (id) => {
    const known = hotAccounts.get(id)
    if (known) return known
    connection.commit.flush()
    const loaded = read(id)
    setLimits(loaded, loaded.limits, open)
    hotAccounts.set(id, loaded)
    return loaded
  }
}

interface HotAccountRow extends ThresholdRow {
  readonly limits: string
  readonly balance_nanos: number
}

function prepareHotAccountReader({ database }: Connection): (id: AccountId) => HotAccount {
  const find = statement<HotAccountRow, [AccountId]>(
    database,
    `SELECT limits, balance_nanos, below_nanos, email, webhook_url, notified_at
     FROM accounts LEFT JOIN thresholds ON account_id = id WHERE id = ?`,
  )
  return (id) => {
    const row = find().get(id)
    // A key refers to its account: without one the table of accounts has lost a row.
    if (row === null) throw unavailable('damaged')
    const limits = toLimits(row.limits)
    return {
      id,
      limits,
      use: null,
      balance: fromInteger(row.balance_nanos),
      held: NO_MONEY,
      inProgress: 0,
      threshold: toHotThreshold(toThreshold(id, row), toMark(row)),
    }
  }
}

/** A key or an account. */
type Holder = Pick<HotAccount, 'held' | 'inProgress'>

function reserve(holder: Holder, use: HotUse | null, hold: OpenHold): void {
  holder.inProgress++
  holder.held = addUsd(holder.held, hold.grant.hold)
  if (use !== null) reserveUse(use, hold)
}

function release(holder: Holder, use: HotUse | null, hold: OpenHold, outcome: Outcome): void {
  holder.inProgress--
  holder.held = subtractUsd(holder.held, hold.grant.hold)
  if (use !== null) releaseUse(use, hold, outcome)
}

function reserveEndUser(
  recent: RecentEndUsers,
  user: HotEndUser,
  { claim: { at }, grant }: OpenHold,
): void {
  remember(recent, user)
  user.minute?.take(at)
  user.inProgress++
  addHold(user.daySpend, grant.hold)
}

function releaseEndUser(user: HotEndUser, { day, grant }: OpenHold, spent: UsdNanos): void {
  user.inProgress--
  if (day === user.day) endHold(user.daySpend, grant.hold, spent)
}

/** Drops the idle keys that were loaded first. A key with requests in progress has state that the tables lack. */
function evictIdle(hotKeys: Map<KeyId, HotKey>): void {
  const surplus = Math.ceil(MAX_HOT_KEYS / 10)
  let dropped = 0
  for (const [id, hot] of hotKeys) {
    if (dropped === surplus) return
    if (hot.inProgress > 0) continue
    hotKeys.delete(id)
    dropped++
  }
}

function forgetAllMarks(keys: Iterable<HotKey>, accounts: Iterable<HotAccount>): void {
  for (const hot of keys) forgetMarks(hot)
  for (const { use } of accounts) if (use !== null) forgetUseMarks(use)
}

function forgetMarks(hot: HotKey): void {
  forgetUseMarks(hot)
  for (const user of hot.recentEndUsers?.users.values() ?? []) user.daySpend.mark = UNKNOWN_MARK
}

export interface LiveSums {
  readonly accounts: readonly {
    readonly id: AccountId
    readonly balance: UsdNanos
    readonly held: UsdNanos
    /** Null where they are not reckoned with, or are read before the next request is judged. */
    readonly periods: LivePeriods | null
  }[]
  readonly keys: readonly LiveKey[]
  readonly open: readonly {
    readonly id: GenerationId
    readonly keyId: KeyId
    readonly accountId: AccountId
    readonly amount: UsdNanos
  }[]
}

/** What is spent on its day, and in its month. */
export interface LivePeriods {
  readonly today: Day
  readonly thisMonth: Day
  readonly spentToday: UsdNanos
  readonly spentThisMonth: UsdNanos
}

interface LiveKey {
  readonly id: KeyId
  readonly held: UsdNanos
  readonly periods: LivePeriods
}

const periodsOf = ({ today, thisMonth, daySpend, monthSpend }: HotUse): LivePeriods => ({
  today,
  thisMonth,
  spentToday: daySpend.spent,
  spentThisMonth: monthSpend.spent,
})

/** Bounded by the keys and accounts that are kept in memory, and by the requests in progress. */
const copyLiveSums = (
  accounts: ReadonlyMap<AccountId, HotAccount>,
  keys: ReadonlyMap<KeyId, HotKey>,
  open: Iterable<[GenerationId, OpenHold]>,
): LiveSums => ({
  accounts: [...accounts].map(([id, { balance, held, use }]) => ({
    id,
    balance,
    held,
    periods: use?.hasSums === true && !use.lacksWrites ? periodsOf(use) : null,
  })),
  keys: [...keys].map(([id, key]) => ({ id, held: key.held, periods: periodsOf(key) })),
  open: [...open].map(([id, { claim, account, grant }]) => ({
    id,
    keyId: claim.keyId,
    accountId: account.id,
    amount: grant.hold,
  })),
})
