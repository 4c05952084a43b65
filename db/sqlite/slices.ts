/** A long table in slices, newest first: a look back over millions of rows must not hold up a request for longer than one. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import { generationsFrom } from '#domain/id.ts'
import { nextTurn } from './next-turn.ts'
import { statement } from './statement.ts'

/** Looked at in one go, for some milliseconds; sums over so many of the largest amounts still fit an SQLite integer. */
export const SLICE_ROWS = 1_000

/** Ids from `from` on and below `below`. */
export interface Slice {
  readonly from: string
  readonly below: string
}

/** Tables whose ids ascend with time. */
const IDS = { activity: 'generation_id', ledger: 'id' } as const

/** Sorts behind every id, of whatever noun. */
const BEHIND_ALL = '~'

/** All of a table, or what `bounds` leave of it. */
export async function* slicesOf(
  database: Database,
  table: keyof typeof IDS,
  { from = '', below = BEHIND_ALL }: Partial<Slice> = {},
): AsyncGenerator<Slice, void> {
  const id = IDS[table]
  const cut = statement<{ id: string }, [string, string]>(
    database,
    `SELECT ${id} AS id FROM ${table} WHERE ${id} < ? AND ${id} >= ?
     ORDER BY ${id} DESC LIMIT 1 OFFSET ${SLICE_ROWS - 1}`,
  )
  let end = below
  for (;;) {
    const last = cut().get(end, from)
    yield { from: last?.id ?? from, below: end }
    if (!last) return
    end = last.id
    await nextTurn()
  }
}

/** Ids tell when a request arrived, so that their own index finds any time. */
export const activitySlices = (
  database: Database,
  { since, until }: { readonly since?: Instant; readonly until?: Instant },
): AsyncGenerator<Slice, void> =>
  slicesOf(database, 'activity', {
    ...(since !== undefined && { from: generationsFrom(since) }),
    ...(until !== undefined && { below: generationsFrom(until) }),
  })
