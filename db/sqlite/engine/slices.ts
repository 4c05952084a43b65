/** Reads a long table in slices, so that no read blocks requests for longer than one slice. */
import type { Database } from 'bun:sqlite'
import { nextTurn } from '#runtime/next-turn.ts'
import { BEHIND_ALL, type Slice } from '../../rows/slice.ts'
import { statement } from './statement.ts'

/** Looked at in one go, for some milliseconds; sums over so many of the largest amounts still fit an SQLite integer. */
export const SLICE_ROWS = 1_000
/** The same for who gives way to everybody: half a millisecond. */
export const LOOK_ROWS = 250

/** Tables whose ids ascend with time. */
const IDS = { activity: 'generation_id', ledger: 'id' } as const

export const EVERYTHING: Slice = { from: '', below: BEHIND_ALL }

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
