/** What a provider served, read from the log slice by slice, each line with the price that it was charged by. */
import { later } from '#domain/clock.ts'
import type { ServedDay, ServedQuery } from '#domain/reconcile/served.ts'
import { ServedTally } from '#domain/reconcile/served-tally.ts'
import { readVersions } from '../../log/price-versions.ts'
import { type Line, MAX_QUEUED_MS, SERVED_LINES, toEntry } from '../../rows/served-line.ts'
import { arrivedIn } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'
import { openReading } from '../engine/reading.ts'
import { slices } from '../engine/slices.ts'

/** Requests of others pass between two slices. @throws store_unavailable */
export async function readServed(
  connection: Connection,
  { provider, since, until }: ServedQuery,
): Promise<readonly ServedDay[]> {
  const reading = openReading(connection)
  try {
    const { database } = reading
    const lines = database.prepare<Line, [Record<string, string | number>]>(SERVED_LINES)
    const versionOf = prepareRunNow(database)(readVersions())
    const tally = new ServedTally(provider)
    const arrived = arrivedIn({ since: later(since, -MAX_QUEUED_MS), until })
    for await (const slice of slices(database, 'activity', arrived)) {
      for (const line of lines.iterate({ ...slice, since, until, provider })) {
        tally.add(toEntry(line, versionOf))
      }
    }
    return tally.days
  } finally {
    reading.close()
  }
}
