/** What a provider served, read from the log slice by slice, each line with the price that it was charged by. */
import type { Database } from 'bun:sqlite'
import { later } from '#domain/clock.ts'
import type { PriceVersionId } from '#domain/id.ts'
import type { PriceVersion } from '#domain/model-card.ts'
import type { ServedDay, ServedQuery } from '#domain/reconcile/served.ts'
import { ServedTally } from '#domain/reconcile/served-tally.ts'
import { toVersion } from '../../rows/catalogue-rows.ts'
import {
  type Line,
  MAX_QUEUED_MS,
  servedLines,
  toEntry,
  type VersionOf,
} from '../../rows/served-line.ts'
import { arrivedIn } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { openReading } from '../engine/reading.ts'
import { slices } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'

type Bounds = {
  readonly from: string
  readonly below: string
  readonly since: number
  readonly until: number
  readonly provider: string
}

/** Requests of others pass between two slices. @throws store_unavailable */
export async function readServed(
  connection: Connection,
  { provider, since, until }: ServedQuery,
): Promise<readonly ServedDay[]> {
  const reading = openReading(connection)
  try {
    const { database } = reading
    const lines = statement<Line, [Bounds]>(database, servedLines('a.admitted = 1'))
    const versionOf = prepareVersions(database)
    const tally = new ServedTally(provider)
    const arrived = arrivedIn({ since: later(since, -MAX_QUEUED_MS), until })
    for await (const slice of slices(database, 'activity', arrived)) {
      for (const line of lines().iterate({ ...slice, since, until, provider })) {
        tally.add(toEntry(line, versionOf))
      }
    }
    return tally.days
  } finally {
    reading.close()
  }
}

/** There are few, each of many requests. */
function prepareVersions(database: Database): VersionOf {
  const find = statement<Parameters<typeof toVersion>[0], [PriceVersionId]>(
    database,
    'SELECT id, effective_from AS effectiveFrom, prices FROM price_versions WHERE id = ?',
  )
  const known = new Map<PriceVersionId, PriceVersion | null>()
  return (id) => {
    if (id === null) return null
    let version = known.get(id)
    if (version === undefined) {
      const row = find().get(id)
      version = row === null ? null : toVersion(row)
      known.set(id, version)
    }
    return version
  }
}
