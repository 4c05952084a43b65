/** What a provider served, read from the log a slice at a time, each line with the price that it was charged by. */
import { later } from '#domain/clock.ts'
import type { PriceVersionId } from '#domain/id.ts'
import type { PriceVersion } from '#domain/model-card.ts'
import type { ServedDay, ServedQuery } from '#domain/reconcile/served.ts'
import { ServedTally } from '#domain/reconcile/served-tally.ts'
import { toVersion } from '../../rows/catalogue-rows.ts'
import { type Line, MAX_QUEUED_MS, servedLines, toEntry } from '../../rows/served-line.ts'
import { arrivedIn, BEHIND_ALL } from '../../rows/slice.ts'
import type { Database } from '../engine/database.ts'

/** Held in memory at once. */
const SLICE_LINES = 5_000

const SLICE = `${servedLines('a.admitted')} ORDER BY a.generation_id LIMIT ${SLICE_LINES}`

export async function readServed(
  database: Database,
  { provider, since, until }: ServedQuery,
): Promise<readonly ServedDay[]> {
  await database.flush()
  const rows = await database.all<Parameters<typeof toVersion>[0]>(
    'SELECT id, effective_from AS "effectiveFrom", prices FROM price_versions',
  )
  const versions = new Map<PriceVersionId, PriceVersion>(
    rows.map((row) => [row.id, toVersion(row)]),
  )
  const versionOf = (id: PriceVersionId | null): PriceVersion | null =>
    (id && versions.get(id)) ?? null
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
