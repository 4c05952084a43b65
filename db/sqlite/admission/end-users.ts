/** The hot state of a key's end users: what each spent today, and the window of each where the key caps it. */
import { UNKNOWN_MARK } from '#domain/ceiling-marks.ts'
import { type Day, type Instant, MINUTE_MS } from '#domain/clock.ts'
import { MAX_END_USERS_A_DAY, REST_OF_END_USERS } from '#domain/end-user.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { Window } from '#domain/window.ts'
import { fromInteger } from '../../rows/amount.ts'
import type { ReadEndUsers } from '../../tell-ceilings.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

export interface HotEndUser {
  /** The name that it is counted under; `REST_OF_END_USERS` for those counted together. */
  readonly name: string
  /** Whether it has a row of its own today. */
  isCounted: boolean
  /** Null while the key caps no rate. */
  minute: Window | null
  day: Day
  readonly daySpend: { spent: UsdNanos; held: UsdNanos; mark: UsdNanos }
  inProgress: number
}

/** The end users of one key that were admitted on one day since it was loaded. */
export interface RecentEndUsers {
  day: Day
  /** How many have a row of their own today. */
  known: number
  readonly users: Map<string, HotEndUser>
}

export interface EndUsers {
  /** Starts empty, with the number of end users that have a row today. */
  loadRecent(id: KeyId, today: Day): RecentEndUsers
  /**
   * The end user called `name`, as it would be counted; one that is never admitted leaves no trace. `minutes` are the
   * windows of those whose requests have not been seen here.
   */
  find(
    recent: RecentEndUsers,
    key: ApiKey,
    name: string,
    minutes: ReadonlyMap<string, Window> | null,
  ): HotEndUser
}

interface DayRow {
  readonly spent_nanos: number
}

export function prepareEndUsers({ database, commit }: Connection): EndUsers {
  const spentOn = statement<DayRow, [KeyId, Day, string]>(
    database,
    'SELECT spent_nanos FROM end_user_days WHERE key_id = ? AND day = ? AND end_user = ?',
  )
  const countOn = statement<{ users: number }, [KeyId, Day]>(
    database,
    'SELECT count(*) AS users FROM end_user_days WHERE key_id = ? AND day = ?',
  )
  // Nothing of its day waits to be written: all that was since it was loaded is in `recent`, which nobody leaves without a flush.
  const load = (recent: RecentEndUsers, id: KeyId, name: string): HotEndUser => {
    const row = spentOn().get(id, recent.day, name)
    if (row === null && name !== REST_OF_END_USERS && recent.known >= MAX_END_USERS_A_DAY) {
      return recent.users.get(REST_OF_END_USERS) ?? load(recent, id, REST_OF_END_USERS)
    }
    return {
      name,
      isCounted: row !== null || name === REST_OF_END_USERS,
      minute: null,
      day: recent.day,
      daySpend: {
        spent: row === null ? NO_MONEY : fromInteger<UsdNanos>(row.spent_nanos),
        held: NO_MONEY,
        mark: UNKNOWN_MARK,
      },
      inProgress: 0,
    }
  }

  return {
    loadRecent(id, today) {
      commit.flush()
      return { day: today, known: countOn().get(id, today)?.users ?? 0, users: new Map() }
    },
    find(recent, { id, limits }, name, minutes) {
      const user = recent.users.get(name) ?? load(recent, id, name)
      // The log has the original names, so the window of those counted together starts empty.
      if (limits.endUserRpm === null) user.minute = null
      else user.minute ??= minutes?.get(user.name) ?? new Window(MINUTE_MS)
      return user
    },
  }
}

interface SpendRow {
  readonly end_user: string
  readonly spent_nanos: number
}

export function prepareEndUserReader({ database, commit }: Connection): ReadEndUsers {
  const find = statement<SpendRow, [KeyId, Day, number, number]>(
    database,
    `SELECT end_user, spent_nanos FROM end_user_days WHERE key_id = ? AND day = ? AND spent_nanos >= ?
     ORDER BY spent_nanos DESC LIMIT ?`,
  )
  return async (id, day, least, limit) => {
    commit.flush()
    const rows = find().all(id, day, Number(least), limit)
    return rows.map((row) => ({ endUser: row.end_user, spent: fromInteger(row.spent_nanos) }))
  }
}

/** Remembers an admitted end user. */
export function remember(recent: RecentEndUsers, user: HotEndUser): void {
  if (!user.isCounted) {
    user.isCounted = true
    recent.known++
  }
  recent.users.set(user.name, user)
}

/** The part of a key's hot state that is about its end users. */
export interface EndUserState {
  today: Day
  hasWindows: boolean
  recentEndUsers: RecentEndUsers | null
  otherEndUsers: readonly RecentEndUsers[]
  endUserMinutes: ReadonlyMap<string, Window> | null
}

/**
 * Takes the end users to the key's day: each is read again when it asks, but for those of that day with requests in progress.
 * Nobody is dropped while `areWritten` is false, as the tables lack what the disk refused.
 */
export function takeDay(hot: EndUserState, at: Instant, areWritten: boolean): void {
  const before = hot.recentEndUsers
  if (before === null) return
  // Those counted together have one window for all, and may be counted separately on the other day: the log knows each.
  if (before.users.has(REST_OF_END_USERS)) hot.hasWindows = false
  const minutes = hot.endUserMinutes && minutesByName(hot.endUserMinutes, before)
  // Those that are read again keep what the log does not tell.
  if (minutes !== null && hot.hasWindows) dropEmpty(minutes, at)
  const days = [...hot.otherEndUsers, before]
  if (areWritten) for (const { users } of days) dropIdle(users)
  hot.recentEndUsers = days.find(({ day }) => day === hot.today) ?? null
  hot.otherEndUsers = days.filter((one) => one !== hot.recentEndUsers && one.users.size > 0)
  takeMinutes(hot, minutes)
}

/** From now on these are the windows by name, those of the end users in memory too. */
export function takeMinutes(hot: EndUserState, minutes: ReadonlyMap<string, Window> | null): void {
  hot.endUserMinutes = minutes
  for (const [name, user] of hot.recentEndUsers?.users ?? []) {
    if (name !== REST_OF_END_USERS) user.minute = null
  }
}

/** The windows that were read at `at`, with what those before them must not forget. */
export function carryMinutes(
  { endUserMinutes, recentEndUsers }: EndUserState,
  read: ReadonlyMap<string, Window>,
  at: Instant,
  isByClock: boolean,
): ReadonlyMap<string, Window> {
  const minutes = new Map(read)
  const before =
    endUserMinutes === null || recentEndUsers === null
      ? endUserMinutes
      : minutesByName(endUserMinutes, recentEndUsers)
  for (const [name, window] of before ?? []) {
    // The log has the original names, so nothing is read for those counted together.
    if (name === REST_OF_END_USERS) {
      minutes.set(name, window)
      continue
    }
    if (!isByClock) continue
    const minute = minutes.get(name) ?? new Window(MINUTE_MS)
    minute.carry(window, at)
    if (minute.count(at) > 0) minutes.set(name, minute)
  }
  return minutes
}

function dropIdle(users: Map<string, HotEndUser>): void {
  for (const [name, { inProgress }] of users) if (inProgress === 0) users.delete(name)
}

/** The windows, with the requests since they were read. */
function minutesByName(
  read: ReadonlyMap<string, Window>,
  { users }: RecentEndUsers,
): Map<string, Window> {
  const minutes = new Map(read)
  for (const [name, { minute }] of users) if (minute !== null) minutes.set(name, minute)
  return minutes
}

function dropEmpty(minutes: Map<string, Window>, at: Instant): void {
  for (const [name, minute] of minutes) if (minute.count(at) === 0) minutes.delete(name)
}
