/** The rate in force at an instant, in one statement: for what is written in the turn of a charge. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import { type RubPerUsd, readRubPerUsd } from '#domain/money.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { statement } from '../engine/statement.ts'

export function prepareRateReader(database: Database): (at: Instant) => RubPerUsd {
  const find = statement<{ rub_per_usd: string }, [Instant]>(
    database,
    'SELECT rub_per_usd FROM rates WHERE effective_from <= ? ORDER BY effective_from DESC LIMIT 1',
  )
  const oldest = statement<{ rub_per_usd: string }>(
    database,
    'SELECT rub_per_usd FROM rates ORDER BY effective_from LIMIT 1',
  )
  return (at) => {
    const row = find().get(at) ?? oldest().get()
    return row === null ? DEFAULT_RUB_PER_USD : (readRubPerUsd(row.rub_per_usd) as RubPerUsd)
  }
}
