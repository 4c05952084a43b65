/** The hot state of keys and accounts: what admission needs, cached in memory and rebuilt from the tables. */
import type { Claim } from '#domain/admission.ts'
import { UNKNOWN_MARK } from '#domain/ceiling-marks.ts'
import type { Day } from '#domain/clock.ts'
import { DAY_MS, dayOf, type Instant, MINUTE_MS, monthStart, nextDay } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { UsdNanos } from '#domain/money.ts'
import { addUsd, NO_MONEY, subtractUsd } from '#domain/money.ts'
import type { Window } from '#domain/window.ts'
import { TransientMap } from '#runtime/short-lived.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { drop, type Pending } from '../engine/group-commit.ts'
import { statement } from '../engine/statement.ts'
import { type KeyRow, toKey } from '../keys/key-row.ts'
import { fromInteger } from '../money/amount.ts'
import { type HotThreshold, toHotThreshold } from '../money/low-balance.ts'
import { prepareSpendReader } from '../money/spend-reader.ts'
import {
  carryMinutes,
  type HotEndUser,
  prepareEndUsers,
  type RecentEndUsers,
  remember,
  takeDay,
  takeMinutes,
} from './end-users.ts'
import type { WindowReader } from './window-reader.ts'

/** Keys whose state is kept in memory; an idle one beyond it is rebuilt when it is used again. */
const MAX_HOT_KEYS = 20_000

export interface HotKey {
  key: ApiKey
  readonly account: HotAccount
  minute: Window | null
  day: Window | null
  /** False until the windows are read from the log; no request of the key is admitted before. */
  hasWindows: boolean
  /** The latest time that it was asked at; after a step back of the clock, since then. */
  seenAt: Instant
  /** From where the clock was last set back; null if it was not, or has been there again. */
  setBackFrom: Instant | null
  /** Where the clock was behind the log, or behind itself, when the windows were read: from when they must be read again. */
  windowsEndAt: Instant | null
  /** The read in progress, if any. */
  loadingWindows: Promise<void> | null
  inProgress: number
  today: Day
  thisMonth: Day
  /** False where writes that the disk refused are missing in what was read as spent. */
  hasSums: boolean
  readonly daySpend: MutableSpending
  readonly monthSpend: MutableSpending
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
  balance: UsdNanos
  held: UsdNanos
  inProgress: number
  /** Null while the account wants no notices. */
  threshold: HotThreshold | null
}

/** An admission in progress. */
export interface OpenHold {
  readonly claim: Claim
  readonly amount: UsdNanos
  readonly account: HotAccount
  /** The periods that its hold and later its charge count in, however late it ends. */
  readonly day: Day
  readonly month: Day
  readonly endUser: HotEndUser | null
  /** The deferred write of its row, dropped if it is resolved first. */
  rowWrite: Pending | null
}

export interface HotState {
  readonly open: TransientMap<GenerationId, OpenHold>
  /** Undefined when there is no such key. Its windows may have to be read: see `hasWindows`. */
  key(id: KeyId, at: Instant): HotKey | undefined
  /** Reads the windows in slices; other requests are served meanwhile. */
  readWindows(hot: HotKey, at: Instant): Promise<void>
  /** The cached state of a key, if any. */
  loaded(id: KeyId): HotKey | undefined
  account(id: AccountId): HotAccount
  /** Replaces a changed key; its windows follow the new limits. */
  replace(key: ApiKey): void
  /** The shares at which is told have changed: the marks of every ceiling are found out again. */
  forgetMarks(): void
  /** The end user that a claim names, as it would be counted; null where it names none. */
  endUser(claim: Claim, hot: HotKey): HotEndUser | null
  take(claim: Claim, amount: UsdNanos, hot: HotKey, endUser: HotEndUser | null): OpenHold
  /** Releases slot and hold, and spends `spent`. Undefined if it was resolved before. */
  resolve(id: GenerationId, spent: UsdNanos): OpenHold | undefined
  /** A copy of the current sums. */
  copySums(): LiveSums
}

/** Starts with nothing loaded; every key and account is read from the tables when it is first used. */
export function startHotState(connection: Connection, windows: WindowReader): HotState {
  const { commit } = connection
  const readHotAccount = prepareHotAccountReader(connection)
  const endUsers = prepareEndUsers(connection)
  const hotKeys = new Map<KeyId, HotKey>()
  const hotAccounts = new Map<AccountId, HotAccount>()
  const open = new TransientMap<GenerationId, OpenHold>()
  const periods = preparePeriods(connection, open)

  const account = (id: AccountId): HotAccount => {
    const known = hotAccounts.get(id)
    if (known) return known
    commit.flush()
    const loaded = readHotAccount(id)
    hotAccounts.set(id, loaded)
    return loaded
  }

  const readHotKey = prepareHotKeyReader(connection, periods, account)
  const load = (id: KeyId, at: Instant): HotKey | undefined => {
    const hot = readHotKey(id, at)
    if (!hot) return undefined
    // What the disk refused so far is in memory only.
    if (hotKeys.size >= MAX_HOT_KEYS && commit.writable) evictIdle(hotKeys)
    hotKeys.set(id, hot)
    return hot
  }

  return {
    open,
    account,
    key(id, at) {
      const hot = hotKeys.get(id)
      if (hot) periods.turn(hot, at)
      return hot ?? load(id, at)
    },
    readWindows(hot, at) {
      hot.loadingWindows ??= readWindows(windows, hot, at).finally(() => {
        hot.loadingWindows = null
      })
      return hot.loadingWindows
    },
    loaded: (id) => hotKeys.get(id),
    replace(key) {
      const hot = hotKeys.get(key.id)
      if (!hot) return
      const { rpm, rpd, endUserRpm } = hot.key.limits
      hot.hasWindows &&=
        keepsWindow(rpm, key.limits.rpm) &&
        keepsWindow(rpd, key.limits.rpd) &&
        // Windows per end user keep every request of the minute, so that a changed limit needs no read.
        (endUserRpm !== null || key.limits.endUserRpm === null)
      if (key.limits.rpm === null) hot.minute = null
      if (key.limits.rpd === null) hot.day = null
      hot.key = key
      forgetMarks(hot)
    },
    forgetMarks() {
      for (const hot of hotKeys.values()) forgetMarks(hot)
    },
    endUser({ endUser }, hot) {
      if (endUser === null) return null
      hot.recentEndUsers ??= endUsers.loadRecent(hot.key.id, hot.today)
      return endUsers.find(hot.recentEndUsers, hot.key, endUser, hot.endUserMinutes)
    },
    take(claim, amount, hot, endUser) {
      const { account, today: day, thisMonth: month } = hot
      const hold: OpenHold = { claim, amount, account, day, month, endUser, rowWrite: null }
      reserveAccount(hold)
      reserve(hot, hold)
      if (endUser !== null && hot.recentEndUsers !== null)
        reserveEndUser(hot.recentEndUsers, endUser, hold)
      open.set(claim.generationId, hold)
      return hold
    },
    resolve(id, spent) {
      const hold = open.take(id)
      if (!hold) return undefined
      // Resolved before its row was written: the row is not needed.
      if (hold.rowWrite) drop(hold.rowWrite)
      releaseAccount(hold, spent)
      const hot = hotKeys.get(hold.claim.keyId)
      if (hot) release(hot, hold, spent)
      if (hold.endUser) releaseEndUser(hold.endUser, hold, spent)
      return hold
    },
    copySums: () => copyLiveSums(hotAccounts, hotKeys, open),
  }
}

/** A window stays while its limit is the same or lower; a new or higher limit needs instants that were not kept. */
const keepsWindow = (before: number | null, limit: number | null): boolean =>
  limit === null || (before !== null && limit <= before)

async function readWindows(windows: WindowReader, hot: HotKey, at: Instant): Promise<void> {
  const { id, limits } = hot.key
  const [minute, day, endUserMinutes, windowsEndAt] = await Promise.all([
    windows.read(id, MINUTE_MS, limits.rpm, at),
    windows.read(id, DAY_MS, limits.rpd, at),
    limits.endUserRpm === null ? null : windows.readByEndUser(id, MINUTE_MS, at),
    limits.rpm === null && limits.rpd === null && limits.endUserRpm === null
      ? null
      : windows.firstAhead(id, MINUTE_MS, at),
  ])
  // The limits changed meanwhile, so the windows must be read again.
  if (hot.key.limits !== limits) return
  // A changed limit is no step of the clock: then the log alone tells, and what is not in it has left the window.
  const isByClock = hot.setBackFrom !== null || hot.windowsEndAt !== null
  if (isByClock && hot.minute !== null) minute?.carry(hot.minute, at)
  if (isByClock && hot.day !== null) day?.carry(hot.day, at)
  hot.minute = minute
  hot.day = day
  takeMinutes(hot, endUserMinutes && carryMinutes(hot, endUserMinutes, at, isByClock))
  if (hot.setBackFrom !== null && hot.setBackFrom <= at) hot.setBackFrom = null
  const ends = [windowsEndAt, hot.setBackFrom].filter((one) => one !== null)
  hot.windowsEndAt = ends.length === 0 ? null : (Math.min(...ends) as Instant)
  hot.hasWindows = true
}

/** Rebuilds a key's hot state, but for its windows; called only while none of its requests is in progress. */
function prepareHotKeyReader(
  { commit, database }: Connection,
  periods: Periods,
  account: HotState['account'],
) {
  const find = statement<KeyRow, [KeyId]>(database, 'SELECT * FROM keys WHERE id = ?')
  return (id: KeyId, at: Instant): HotKey | undefined => {
    commit.flush()
    const row = find().get(id)
    if (row === null) return undefined
    const key = toKey(row)
    return periods.read(toHotKey(key, account(key.accountId), at))
  }
}

const toHotKey = (key: ApiKey, account: HotAccount, at: Instant): HotKey => ({
  key,
  account,
  minute: null,
  day: null,
  hasWindows: false,
  windowsEndAt: null,
  seenAt: at,
  setBackFrom: null,
  loadingWindows: null,
  inProgress: 0,
  today: dayOf(at),
  thisMonth: monthStart(dayOf(at)),
  hasSums: false,
  daySpend: { spent: NO_MONEY, held: NO_MONEY, mark: UNKNOWN_MARK },
  monthSpend: { spent: NO_MONEY, held: NO_MONEY, mark: UNKNOWN_MARK },
  lastUsedAt: key.lastUsedAt,
  useWrittenAt: key.lastUsedAt,
  held: NO_MONEY,
  recentEndUsers: null,
  otherEndUsers: [],
  endUserMinutes: null,
})

interface HotAccountRow {
  readonly balance_nanos: number
  readonly below_nanos: number | null
  readonly email: string | null
  readonly webhook_url: string | null
  readonly notified_at: Instant | null
}

function prepareHotAccountReader({ database }: Connection): (id: AccountId) => HotAccount {
  const find = statement<HotAccountRow, [AccountId]>(
    database,
    `SELECT balance_nanos, below_nanos, email, webhook_url, notified_at
     FROM accounts LEFT JOIN thresholds ON account_id = id WHERE id = ?`,
  )
  return (id) => {
    const row = find().get(id)
    // A key refers to its account: without one the table of accounts has lost a row.
    if (row === null) throw unavailable('damaged')
    const { below_nanos: below, email, webhook_url: webhookUrl, notified_at: notifiedAt } = row
    const threshold = {
      below: below === null ? null : fromInteger<UsdNanos>(below),
      email,
      webhookUrl,
    }
    return {
      balance: fromInteger(row.balance_nanos),
      held: NO_MONEY,
      inProgress: 0,
      threshold: toHotThreshold(threshold, notifiedAt === null ? null : { notifiedAt }),
    }
  }
}

function reserveAccount({ account, amount }: OpenHold): void {
  account.held = addUsd(account.held, amount)
  account.inProgress++
}

function releaseAccount({ account, amount }: OpenHold, spent: UsdNanos): void {
  account.held = subtractUsd(account.held, amount)
  account.inProgress--
  account.balance = subtractUsd(account.balance, spent)
}

function reserve(hot: HotKey, { claim: { at }, amount }: OpenHold): void {
  hot.minute?.take(at)
  hot.day?.take(at)
  hot.inProgress++
  hot.held = addUsd(hot.held, amount)
  addHold(hot.daySpend, amount)
  addHold(hot.monthSpend, amount)
}

function release(hot: HotKey, { amount, day, month }: OpenHold, spent: UsdNanos): void {
  hot.inProgress--
  hot.held = subtractUsd(hot.held, amount)
  if (day === hot.today) endHold(hot.daySpend, amount, spent)
  if (month === hot.thisMonth) endHold(hot.monthSpend, amount, spent)
}

function reserveEndUser(
  recent: RecentEndUsers,
  user: HotEndUser,
  { claim: { at }, amount }: OpenHold,
): void {
  remember(recent, user)
  user.minute?.take(at)
  user.inProgress++
  addHold(user.daySpend, amount)
}

function releaseEndUser(user: HotEndUser, { day, amount }: OpenHold, spent: UsdNanos): void {
  user.inProgress--
  if (day === user.day) endHold(user.daySpend, amount, spent)
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

/** A request may be this much older than the one before it, without a step of the clock. */
const STEP_MS = 1_000

export interface Periods {
  /**
   * Takes a key to the day of `at`. Its sums are read, because a corrected clock may return to a day. A step back of less
   * than a day stays in the day. Its windows are given up where the clock was set back, because a clock that was ahead has let
   * go of requests, and where it has come back to where it was.
   */
  turn(hot: HotKey, at: Instant): void
  /** Reads the sums of its day and month, and returns it. */
  read(hot: HotKey): HotKey
}

function preparePeriods(connection: Connection, open: Iterable<[GenerationId, OpenHold]>): Periods {
  const { commit } = connection
  const readSpend = prepareSpendReader(connection)

  const read = (hot: HotKey): HotKey => {
    commit.flush()
    hot.hasSums = commit.writable
    const spend = readSpend(hot.key.id, hot.today, hot.thisMonth)
    const held = sumHolds(open, hot)
    hot.daySpend.spent = spend.day
    hot.daySpend.held = held.day
    hot.monthSpend.spent = spend.month
    hot.monthSpend.held = held.month
    hot.daySpend.mark = hot.monthSpend.mark = UNKNOWN_MARK
    return hot
  }

  return {
    turn(hot, at) {
      noteStep(hot, at)
      const today = dayOf(at)
      const isOver = today !== hot.today && nextDay(today) !== hot.today
      if (isOver) {
        hot.today = today
        hot.thisMonth = monthStart(today)
        takeDay(hot, at, commit.writable)
      }
      if (isOver || (!hot.hasSums && commit.writable)) read(hot)
    },
    read,
  }
}

/** Gives its windows up where the log tells more than they do. */
function noteStep(hot: HotKey, at: Instant): void {
  if (hot.windowsEndAt !== null && at >= hot.windowsEndAt) hot.hasWindows = false
  if (at < hot.seenAt - STEP_MS) {
    hot.setBackFrom = hot.seenAt
    hot.hasWindows = false
  } else if (at <= hot.seenAt) return
  hot.seenAt = at
}

/** What the requests of a key that are in progress hold of its day and of its month. */
function sumHolds(
  open: Iterable<[GenerationId, OpenHold]>,
  { key, inProgress, today, thisMonth }: HotKey,
): { readonly day: UsdNanos; readonly month: UsdNanos } {
  let day = NO_MONEY
  let month = NO_MONEY
  if (inProgress === 0) return { day, month }
  for (const [, hold] of open) {
    if (hold.claim.keyId !== key.id) continue
    if (hold.day === today) day = addUsd(day, hold.amount)
    if (hold.month === thisMonth) month = addUsd(month, hold.amount)
  }
  return { day, month }
}

export interface MutableSpending {
  spent: UsdNanos
  held: UsdNanos
  /** From what is spent on somebody is to be told (`ceiling-marks.ts`). */
  mark: UsdNanos
}

function forgetMarks({ daySpend, monthSpend, recentEndUsers }: HotKey): void {
  daySpend.mark = monthSpend.mark = UNKNOWN_MARK
  for (const user of recentEndUsers?.users.values() ?? []) user.daySpend.mark = UNKNOWN_MARK
}

function addHold(spending: MutableSpending, amount: UsdNanos): void {
  spending.held = addUsd(spending.held, amount)
}

/** A hold ends; `spent` is what became of it. */
function endHold(spending: MutableSpending, held: UsdNanos, spent: UsdNanos): void {
  spending.held = subtractUsd(spending.held, held)
  spending.spent = addUsd(spending.spent, spent)
}

export interface LiveSums {
  readonly accounts: readonly {
    readonly id: AccountId
    readonly balance: UsdNanos
    readonly held: UsdNanos
  }[]
  readonly keys: readonly LiveKey[]
  readonly open: readonly {
    readonly id: GenerationId
    readonly keyId: KeyId
    readonly accountId: AccountId
    readonly amount: UsdNanos
  }[]
}

interface LiveKey {
  readonly id: KeyId
  readonly today: Day
  readonly thisMonth: Day
  readonly spentToday: UsdNanos
  readonly spentThisMonth: UsdNanos
  readonly held: UsdNanos
}

/** Bounded by the keys and accounts that are kept in memory, and by the requests in progress. */
const copyLiveSums = (
  accounts: ReadonlyMap<AccountId, HotAccount>,
  keys: ReadonlyMap<KeyId, HotKey>,
  open: Iterable<[GenerationId, OpenHold]>,
): LiveSums => ({
  accounts: [...accounts].map(([id, { balance, held }]) => ({ id, balance, held })),
  keys: [...keys].map(([id, { today, thisMonth, daySpend, monthSpend, held }]) => ({
    id,
    today,
    thisMonth,
    spentToday: daySpend.spent,
    spentThisMonth: monthSpend.spent,
    held,
  })),
  open: [...open].map(([id, { claim, amount }]) => ({
    id,
    keyId: claim.keyId,
    accountId: claim.accountId,
    amount,
  })),
})
