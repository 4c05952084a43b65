/** The log hour by hour in SQLite: added up slice by slice, on a connection of its own. */
import type { Instant } from '#domain/clock.ts'
import { addHours, type TrendHour, type TrendQuery } from '#domain/trend.ts'
import { addUpTrend } from '../../log/log-sums.ts'
import { arrivedIn } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'
import { openReading } from '../engine/reading.ts'
import { slices } from '../engine/slices.ts'

/** Requests of others pass between two slices. @throws store_unavailable */
export async function readTrend(
  connection: Connection,
  { since, accountId }: TrendQuery,
): Promise<readonly TrendHour[]> {
  const reading = openReading(connection)
  try {
    const runNow = prepareRunNow(reading.database)
    const hours = new Map<Instant, TrendHour>()
    for await (const slice of slices(reading.database, 'activity', arrivedIn({ since }))) {
      for (const read of runNow(addUpTrend(slice, accountId ?? null))) {
        const known = hours.get(read.hour)
        hours.set(read.hour, known === undefined ? read : addHours(known, read))
      }
    }
    return [...hours.values()].toSorted((a, b) => a.hour - b.hour)
  } finally {
    reading.close()
  }
}
