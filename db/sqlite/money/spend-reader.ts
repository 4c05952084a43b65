/** Reads what a key, or all of them, spent on a UTC day and since the start of its month. */
import type { Spend } from '#domain/admission.ts'
import { type Day, nextMonthStart } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { fromInteger } from './amount.ts'
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

/** Each of its keys' days is looked up: between them lie those of all other accounts' keys. */
const SPENT_OF_ACCOUNT = `
  WITH RECURSIVE days (day) AS (SELECT ?2 UNION ALL SELECT day + 1 FROM days WHERE day + 1 < ?3)
  SELECT sum(
    coalesce((SELECT spent_nanos FROM key_days WHERE day = days.day AND key_id = keys.id), 0) +
    coalesce((SELECT spent_nanos FROM resting_key_days WHERE day = days.day AND key_id = keys.id), 0)
  ) AS spent_nanos FROM keys CROSS JOIN days WHERE account_id = ?1`

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

/** What the keys of an account spent from one day on and before another. */
export function prepareAccountSpendReader({
  database,
}: Connection): (id: AccountId, from: Day, before: Day) => UsdNanos {
  const sum = statement<{ spent_nanos: number | null }, [AccountId, Day, Day]>(
    database,
    SPENT_OF_ACCOUNT,
  )
  return (id, from, before) => fromInteger(sum().get(id, from, before)?.spent_nanos ?? 0)
}
