/** Reads a long table in slices, so that no read blocks requests for longer than one slice. */
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
export const BEHIND_ALL = '~'

export const EVERYTHING: Slice = { from: '', below: BEHIND_ALL }

/** The lower of two upper bounds, where there is any. */
export function belowBoth(a: string | undefined, b: string | undefined): Partial<Slice> {
  if (a === undefined) return b === undefined ? {} : { below: b }
  return { below: b === undefined || a < b ? a : b }
}

/** All of a table, or what `bounds` leave of it, oldest first, as a disk reads ahead: for whoever adds all of it up. */
export async function* slices(
  database: Database,
  table: keyof typeof IDS,
  bounds: Partial<Slice> = {},
): AsyncGenerator<Slice, void> {
  const { from, below } = { ...EVERYTHING, ...bounds }
  const id = IDS[table]
  const cut = statement<{ id: string }, [string, string]>(
    database,
    `SELECT ${id} AS id FROM ${table} WHERE ${id} >= ? AND ${id} < ?
     ORDER BY ${id} LIMIT 1 OFFSET ${SLICE_ROWS}`,
  )
  let start = from
  for (;;) {
    const next = cut().get(start, below)
    yield { from: start, below: next?.id ?? below }
    if (!next) return
    start = next.id
    await nextTurn()
  }
}

/** What arrived in a time: ids tell when, so that their own index finds any. */
export const arrivedIn = ({
  since,
  until,
  before,
}: {
  readonly since?: Instant
  readonly until?: Instant
  readonly before?: string
}): Partial<Slice> => ({
  ...(since !== undefined && { from: generationsFrom(since) }),
  ...belowBoth(until === undefined ? undefined : generationsFrom(until), before),
})
