/** Reads what a key, or all of them, spent on a UTC day and since the start of its month. */
import type { Spend } from '#domain/admission.ts'
import { type Day, nextMonthStart } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import { fromInteger } from '../../rows/amount.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { KEY_DAYS } from './sums.ts'

/** `today` lies in the month that begins on `monthStart`; a null id asks for all keys together. */
export type ReadSpend = (id: KeyId | null, today: Day, monthStart: Day) => Spend

interface DayRow {
  readonly day: Day
  readonly spent_nanos: number
}

/** Day by day: the sums are in the order of days, and a month of all keys lies between two days of one. */
const DAYS_OF_KEY = `
  WITH RECURSIVE days (day) AS (SELECT ?2 UNION ALL SELECT day + 1 FROM days WHERE day + 1 < ?3)
  SELECT days.day, spent_nanos FROM days CROSS JOIN ${KEY_DAYS} AS sums ON sums.day = days.day AND key_id = ?1`

/** Each of their days is looked up: between those of two keys lie those of all other accounts' keys. */
const SPENT_OF_KEYS = `
  WITH RECURSIVE days (day) AS (SELECT $from UNION ALL SELECT day + 1 FROM days WHERE day + 1 < $before)
  SELECT sum(
    coalesce((SELECT spent_nanos FROM key_days WHERE day = days.day AND key_id = keys.id), 0) +
    coalesce((SELECT spent_nanos FROM resting_key_days WHERE day = days.day AND key_id = keys.id), 0)
  ) AS spent_nanos FROM keys CROSS JOIN days WHERE account_id = $id AND keys.id > $after AND keys.id <= $upTo`

const SPENT_BESIDE = `
  SELECT sum(spent_nanos) AS spent_nanos FROM moved_days WHERE account_id = $id AND day >= $from AND day < $before`

export function prepareSpendReader({ database }: Connection): ReadSpend {
  const days = statement<DayRow, [KeyId, Day, Day]>(database, DAYS_OF_KEY)
  const daysOfAll = statement<DayRow, [Day, Day]>(
    database,
    `SELECT day, sum(spent_nanos) AS spent_nanos FROM ${KEY_DAYS} WHERE day >= ? AND day < ? GROUP BY day`,
  )
  return (id, today, monthStart) => {
    let day = NO_MONEY
    let month = NO_MONEY
    const next = nextMonthStart(monthStart)
    const rows = id === null ? daysOfAll().all(monthStart, next) : days().all(id, monthStart, next)
    for (const row of rows) {
      const spent = fromInteger<UsdNanos>(row.spent_nanos)
      month = addUsd(month, spent)
      if (row.day === today) day = addUsd(day, spent)
    }
    return { day, month }
  }
}

/** Some of an account's keys: those after one, up to another. */
type KeySlice = { readonly after: string; readonly upTo: string }

/** Days that are looked up in one go, for some milliseconds. */
const SLICE_DAYS = 5_000

/**
 * Shows the keys of an account in slices, with what they spent in each of some spans of days; first, of no key, what else it was
 * charged. A turn for each but the first two.
 */
export function prepareAccountSpendReader({ database, commit }: Connection) {
  type OfSlice = KeySlice & { readonly id: AccountId; readonly from: Day; readonly before: Day }
  const sum = statement<{ spent_nanos: number | null }, [OfSlice]>(database, SPENT_OF_KEYS)
  const sumBeside = statement<{ spent_nanos: number | null }, [Omit<OfSlice, keyof KeySlice>]>(
    database,
    SPENT_BESIDE,
  )
  const spentOf = (row: { spent_nanos: number | null } | null) =>
    fromInteger<UsdNanos>(row?.spent_nanos ?? 0)
  const cut = statement<{ id: KeyId }, [AccountId, string, number]>(
    database,
    'SELECT id FROM keys WHERE account_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?',
  )
  return async (
    id: AccountId,
    spans: readonly (readonly [from: Day, before: Day])[],
    visit: (slice: KeySlice, spent: readonly UsdNanos[]) => void,
  ): Promise<void> => {
    const days = spans.reduce((total, [from, before]) => total + before - from, 0)
    const keys = Math.max(1, Math.floor(SLICE_DAYS / days))
    let after = ''
    commit.flush()
    visit(
      { after, upTo: after },
      spans.map(([from, before]) => spentOf(sumBeside().get({ id, from, before }))),
    )
    for (;;) {
      commit.flush()
      const last = cut().get(id, after, keys - 1)
      const slice = { after, upTo: last?.id ?? BEHIND_ALL }
      visit(
        slice,
        spans.map(([from, before]) => spentOf(sum().get({ id, ...slice, from, before }))),
      )
      if (last === null) return
      after = last.id
      await nextTurn()
    }
  }
}
