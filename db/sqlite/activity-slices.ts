/** The log in slices, newest first: a look back over millions of lines must not hold up a request for longer than one. */
import type { DriftQuery } from '#domain/activity.ts'
import { generationsFrom } from '#domain/id.ts'
import type { Connection } from './connection.ts'
import { nextTurn } from './next-turn.ts'
import { statement } from './statement.ts'

/** Looked at in one go, for some milliseconds; sums over so many of the largest amounts still fit an SQLite integer. */
const SLICE_LINES = 1_000

/** Ids from `from` on and below `below`. */
export interface Slice {
  readonly from: string
  readonly below: string
}

/** Sorts behind every id. */
const BEHIND_ALL = 'gen~'

/** Ids tell when a request arrived, so that their own index finds any time. */
export async function* readSlices(
  { database }: Connection,
  { since, until }: DriftQuery,
): AsyncGenerator<Slice, void> {
  const least = since === undefined ? '' : generationsFrom(since)
  const cut = statement<{ generation_id: string }, [string, string]>(
    database,
    `SELECT generation_id FROM activity WHERE generation_id < ? AND generation_id >= ?
     ORDER BY generation_id DESC LIMIT 1 OFFSET ${SLICE_LINES - 1}`,
  )
  let below = until === undefined ? BEHIND_ALL : generationsFrom(until)
  for (;;) {
    const last = cut().get(below, least)
    yield { from: last?.generation_id ?? least, below }
    if (!last) return
    below = last.generation_id
    await nextTurn()
  }
}
