/** The hot state of a key's end users: what each spent today, and the window of each where the key caps it. */
import { type Day, type Instant, MINUTE_MS } from '#domain/clock.ts'
import { MAX_END_USERS_A_DAY, REST_OF_END_USERS } from '#domain/end-user.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { Window } from '#domain/window.ts'
import { fromInteger } from './amount.ts'
import type { Connection } from './connection.ts'
import type { MutableSpending } from './spending.ts'
import { statement } from './statement.ts'

export interface HotEndUser {
  /** The name that it is counted under; `REST_OF_END_USERS` for those counted together. */
  readonly name: string
  /** Whether it has a row of its own today. */
  isCounted: boolean
  /** Null while the key caps no rate. */
  minute: Window | null
  day: Day
  readonly daySpend: MutableSpending
  inProgress: number
}

/** The end users of one key that were admitted since it was loaded and whose state is still needed. */
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
  const load = (recent: RecentEndUsers, id: KeyId, name: string): HotEndUser => {
    commit.flush()
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

/** Remembers an admitted end user. */
export function remember(recent: RecentEndUsers, user: HotEndUser): void {
  if (!user.isCounted) {
    user.isCounted = true
    recent.known++
  }
  recent.users.set(user.name, user)
}

/** Starts a new day: end users with requests in progress or in a window stay, with nothing spent; the others are dropped. */
export function turnDay(recent: RecentEndUsers, today: Day, at: Instant): void {
  for (const [name, user] of recent.users) {
    if (user.inProgress === 0 && (user.minute?.count(at) ?? 0) === 0) {
      recent.users.delete(name)
      continue
    }
    user.day = today
    user.daySpend.spent = NO_MONEY
    user.daySpend.held = NO_MONEY
  }
  recent.day = today
  recent.known = recent.users.size
}
