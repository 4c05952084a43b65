/** What a provider served, read from the log a slice at a time, each line with the price that it was charged by. */
import { later } from '#domain/clock.ts'
import type { ServedDay, ServedQuery } from '#domain/reconcile/served.ts'
import { ServedTally } from '#domain/reconcile/served-tally.ts'
import { readVersions } from '../../log/price-versions.ts'
import { type Line, MAX_QUEUED_MS, SERVED_LINES, toEntry } from '../../rows/served-line.ts'
import { arrivedIn, BEHIND_ALL } from '../../rows/slice.ts'
import type { Database } from '../engine/database.ts'
import { send } from '../engine/engine.ts'

/** Held in memory at once. */
const SLICE_LINES = 5_000

const SLICE = `${SERVED_LINES} ORDER BY a.generation_id LIMIT ${SLICE_LINES}`

export async function readServed(
  database: Database,
  { provider, since, until }: ServedQuery,
): Promise<readonly ServedDay[]> {
  await database.flush()
  const versionOf = await send(database, readVersions())
  const tally = new ServedTally(provider)
  const arrived = arrivedIn({ since: later(since, -MAX_QUEUED_MS), until })
  let from = arrived.from ?? ''
  for (;;) {
    const below = arrived.below ?? BEHIND_ALL
    const lines = await database.all<Line>(SLICE, { from, below, since, until, provider })
    for (const line of lines) tally.add(toEntry(line, versionOf))
    const last = lines.at(-1)
    if (last === undefined || lines.length < SLICE_LINES) return tally.days
    // The next text behind its id.
    from = `${last.generationId} `
  }
}
