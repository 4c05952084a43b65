/** The log hour by hour in SQLite: added up slice by slice, on a connection of its own. */
import { HOUR_MS, type Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { addHours, type TrendHour, type TrendQuery } from '#domain/trend.ts'
import { arrivedIn } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { openReading } from '../engine/reading.ts'
import { slices } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'

interface Row extends Omit<TrendHour, 'hour' | 'cost'> {
  readonly hour: Instant
  /** As text, because a sum may be larger than a number can tell. */
  readonly cost: string
}

const ROWS = `
  SELECT started_at / ${HOUR_MS} * ${HOUR_MS} AS hour, count(*) AS requests,
    sum(status >= 500) AS failed, sum(admitted = 0) AS refused, sum(first_event_ms IS NOT NULL) AS answered,
    total(first_event_ms) AS firstEventMs,
    sum(input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens + image_input_tokens
      + output_tokens + image_output_tokens) AS tokens,
    CAST(sum(cost_nanos) AS TEXT) AS cost
  FROM activity
  WHERE generation_id >= ?1 AND generation_id < ?2 AND (?3 IS NULL OR account_id = ?3)
  GROUP BY 1`

/** Requests of others pass between two slices. @throws store_unavailable */
export async function readTrend(
  connection: Connection,
  { since, accountId }: TrendQuery,
): Promise<readonly TrendHour[]> {
  const reading = openReading(connection)
  try {
    const rows = statement<Row, [string, string, AccountId | null]>(reading.database, ROWS)
    const hours = new Map<Instant, TrendHour>()
    for await (const { from, below } of slices(
      reading.database,
      'activity',
      arrivedIn({ since }),
    )) {
      for (const { cost, ...row } of rows().all(from, below, accountId ?? null)) {
        const read = { ...row, cost: BigInt(cost) as UsdNanos }
        const known = hours.get(row.hour)
        hours.set(row.hour, known === undefined ? read : addHours(known, read))
      }
    }
    return [...hours.values()].toSorted((a, b) => a.hour - b.hour)
  } finally {
    reading.close()
  }
}
