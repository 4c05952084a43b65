/** The hot state of keys and accounts: what admission needs, in memory, written through and rebuilt from the tables. */
import type { Claim } from '#domain/admission.ts'
import { DAY_MS, type Day, dayOf, type Instant, MINUTE_MS, monthStart } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { addUsd, NO_MONEY, subtractUsd, type UsdNanos } from '#domain/money.ts'
import type { Window } from '#domain/window.ts'
import { fromInteger } from './amount.ts'
import type { Connection } from './connection.ts'
import { type KeyRow, toKey } from './key-row.ts'
import { type HotThreshold, toHotThreshold } from './low-balance.ts'
import { prepareSpendReader } from './spend-reader.ts'
import { statement } from './statement.ts'
import { prepareWindowReader, type WindowReader } from './window-reader.ts'

/** Keys whose state is kept in memory; an idle one beyond it is rebuilt when it is used again. */
const MOST_HOT_KEYS = 20_000

interface MutablePurse {
  spent: UsdNanos
  held: UsdNanos
}

export interface HotKey {
  key: ApiKey
  minute: Window | null
  day: Window | null
  inProgress: number
  today: Day
  thisMonth: Day
  readonly daySpend: MutablePurse
  readonly monthSpend: MutablePurse
  lastUsedAt: Instant | null
  /** What the row says of it. */
  useWrittenAt: Instant | null
  /** Σ of its holds, of whatever day. */
  held: UsdNanos
}

export interface HotAccount {
  balance: UsdNanos
  held: UsdNanos
  /** Null while the account asks for no notice; nothing is judged then. */
  threshold: HotThreshold | null
}

/** An admission in progress. */
export interface OpenHold {
  readonly keyId: KeyId
  readonly accountId: AccountId
  readonly account: HotAccount
  readonly amount: UsdNanos
  readonly admittedAt: Instant
  /** The periods whose purses hold it; its charge is spent there, however late it comes. */
  readonly day: Day
  readonly month: Day
  /** Whether its row may be in the table; a hold that was resolved at once was never written. */
  isKept: boolean
}

export interface Standings {
  readonly open: Map<GenerationId, OpenHold>
  /** Undefined when there is no such key. */
  key(id: KeyId, at: Instant): HotKey | undefined
  /** What is in memory of a key, if anything is; asks no table. */
  loaded(id: KeyId): HotKey | undefined
  account(id: AccountId): HotAccount
  /** Takes a changed key over; windows follow its new limits. */
  replace(key: ApiKey): void
  take(claim: Claim, hot: HotKey): void
  /** Gives slot and hold back, and spends `amount` instead. Undefined when it was resolved before. */
  resolve(id: GenerationId, amount: UsdNanos): OpenHold | undefined
}

/** Starts with nothing loaded; every key and account is read from the tables when it is first used. */
export function startStandings(connection: Connection): Standings {
  const { commit } = connection
  const windows = prepareWindowReader(connection)
  const readHotKey = prepareHotKeyReader(connection, windows)
  const readHotAccount = prepareHotAccountReader(connection)
  const hotKeys = new Map<KeyId, HotKey>()
  const hotAccounts = new Map<AccountId, HotAccount>()
  const open = new Map<GenerationId, OpenHold>()
  const load = (id: KeyId, at: Instant): HotKey | undefined => {
    const hot = readHotKey(id, at)
    if (!hot) return undefined
    if (hotKeys.size >= MOST_HOT_KEYS) evictIdle(hotKeys)
    hotKeys.set(id, hot)
    return hot
  }

  const account = (id: AccountId): HotAccount => {
    const known = hotAccounts.get(id)
    if (known) return known
    commit.flush()
    const loaded = readHotAccount(id)
    hotAccounts.set(id, loaded)
    return loaded
  }

  /** A window stays while its limit is the same or lower; a new or higher limit needs instants that were not kept. */
  const follow = (
    window: Window | null,
    spanMs: number,
    before: number | null,
    key: ApiKey,
    limit: number | null,
  ) => {
    if (limit === null) return null
    if (window && before !== null && limit <= before) return window
    return windows.read(key.id, spanMs, limit, connection.clock.now())
  }

  return {
    open,
    account,
    key(id, at) {
      const hot = hotKeys.get(id) ?? load(id, at)
      if (hot) turnPeriods(hot, at)
      return hot
    },
    loaded: (id) => hotKeys.get(id),
    replace(key) {
      const hot = hotKeys.get(key.id)
      if (!hot) return
      const before = hot.key.limits
      hot.minute = follow(hot.minute, MINUTE_MS, before.rpm, key, key.limits.rpm)
      hot.day = follow(hot.day, DAY_MS, before.rpd, key, key.limits.rpd)
      hot.key = key
    },
    take(claim, hot) {
      const owner = account(claim.accountId)
      hot.minute?.take(claim.at)
      hot.day?.take(claim.at)
      hot.inProgress++
      hot.lastUsedAt = claim.at
      hot.held = addUsd(hot.held, claim.hold)
      hot.daySpend.held = addUsd(hot.daySpend.held, claim.hold)
      hot.monthSpend.held = addUsd(hot.monthSpend.held, claim.hold)
      owner.held = addUsd(owner.held, claim.hold)
      open.set(claim.generationId, toOpenHold(claim, hot, owner))
    },
    resolve(id, amount) {
      const hold = open.get(id)
      if (!hold) return undefined
      open.delete(id)
      const { account: owner } = hold
      owner.held = subtractUsd(owner.held, hold.amount)
      owner.balance = subtractUsd(owner.balance, amount)
      const hot = hotKeys.get(hold.keyId)
      if (hot) giveBack(hot, hold, amount)
      return hold
    },
  }
}

/** Rebuilds a key's hot state; called only while none of its requests is in progress. */
function prepareHotKeyReader(connection: Connection, windows: WindowReader) {
  const { commit, database } = connection
  const readSpend = prepareSpendReader(connection)
  const find = statement<KeyRow, [KeyId]>(database, 'SELECT * FROM keys WHERE id = ?')
  return (id: KeyId, at: Instant): HotKey | undefined => {
    commit.flush()
    const row = find().get(id)
    if (row === null) return undefined
    const key = toKey(row)
    const today = dayOf(at)
    const thisMonth = monthStart(today)
    const spend = readSpend(id, today, thisMonth)
    return {
      key,
      minute: windows.read(id, MINUTE_MS, key.limits.rpm, at),
      day: windows.read(id, DAY_MS, key.limits.rpd, at),
      inProgress: 0,
      today,
      thisMonth,
      daySpend: { spent: spend.day, held: NO_MONEY },
      monthSpend: { spent: spend.month, held: NO_MONEY },
      lastUsedAt: key.lastUsedAt,
      useWrittenAt: key.lastUsedAt,
      held: NO_MONEY,
    }
  }
}

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
    if (row === null) return { balance: NO_MONEY, held: NO_MONEY, threshold: null }
    const { below_nanos: below, email, webhook_url: webhookUrl, notified_at: notifiedAt } = row
    const threshold = {
      below: below === null ? null : fromInteger<UsdNanos>(below),
      email,
      webhookUrl,
    }
    return {
      balance: fromInteger(row.balance_nanos),
      held: NO_MONEY,
      threshold: toHotThreshold(threshold, notifiedAt === null ? null : { notifiedAt }),
    }
  }
}

/** A new UTC day or month starts with empty purses; a clock that steps back stays in the period it was in. */
function turnPeriods(hot: HotKey, at: Instant): void {
  const today = dayOf(at)
  if (today <= hot.today) return
  hot.today = today
  hot.daySpend.spent = NO_MONEY
  hot.daySpend.held = NO_MONEY
  const month = monthStart(today)
  if (month === hot.thisMonth) return
  hot.thisMonth = month
  hot.monthSpend.spent = NO_MONEY
  hot.monthSpend.held = NO_MONEY
}

const toOpenHold = (
  { keyId, accountId, hold, at }: Claim,
  { today, thisMonth }: HotKey,
  account: HotAccount,
): OpenHold => ({
  keyId,
  accountId,
  account,
  amount: hold,
  admittedAt: at,
  day: today,
  month: thisMonth,
  isKept: false,
})

function giveBack(hot: HotKey, hold: OpenHold, amount: UsdNanos): void {
  hot.inProgress--
  hot.held = subtractUsd(hot.held, hold.amount)
  if (hold.day === hot.today) move(hot.daySpend, hold.amount, amount)
  if (hold.month === hot.thisMonth) move(hot.monthSpend, hold.amount, amount)
}

function move(purse: MutablePurse, held: UsdNanos, spent: UsdNanos): void {
  purse.held = subtractUsd(purse.held, held)
  purse.spent = addUsd(purse.spent, spent)
}

/** Drops the longest-known idle keys; one with a request in progress holds what the tables do not know. */
function evictIdle(hotKeys: Map<KeyId, HotKey>): void {
  const surplus = Math.ceil(MOST_HOT_KEYS / 10)
  let dropped = 0
  for (const [id, hot] of hotKeys) {
    if (dropped === surplus) return
    if (hot.inProgress > 0) continue
    hotKeys.delete(id)
    dropped++
  }
}
