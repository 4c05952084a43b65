/**
 * An index by key of the window slots in the log, updated in batches of thousands of entries. Updating it with every log entry
 * would write a page for every key of a group.
 */
import { type Instant, later } from '#domain/clock.ts'
import { type GenerationId, generationsFrom, type KeyId } from '#domain/id.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { Connection } from '../engine/connection.ts'
import { ignoreTrouble } from '../engine/disk.ts'
import { statement } from '../engine/statement.ts'

/**
 * All entries before its end are in the table; later ones are found in the log. An entry is copied with a later batch, or, if
 * the end has already passed it because its request took long, inserted at once.
 */
export interface WindowSlots {
  /** A line of an admitted request is being written, in the transaction that is open. */
  note(keyId: KeyId, admittedAt: Instant, id: GenerationId): void
  /** Brings in what there is, so that a reader finds little behind the end. What the disk does not take stays where it is. */
  catchUp(): Promise<void>
}

/** Brought in at once: some milliseconds. */
const BATCH_LINES = 4_096
/** So few behind the end are read faster than they are brought in. */
const FEW_LINES = 256
/** Most requests are over by then, and need not bring themselves in. */
const SETTLED_MS = 2_000

const COPY_SLOTS = `
  INSERT OR IGNORE INTO window_slots (key_id, admitted_at, generation_id)
  SELECT key_id, admitted_at, generation_id FROM activity
  WHERE generation_id >= ? AND generation_id < ? AND admitted = 1
  ORDER BY key_id, admitted_at, generation_id`

export function openWindowSlots({ database, commit, clock }: Connection): WindowSlots {
  const insert = statement<unknown, [KeyId, Instant, GenerationId]>(
    database,
    'INSERT OR IGNORE INTO window_slots (key_id, admitted_at, generation_id) VALUES (?, ?, ?)',
  )
  const nth = statement<{ id: string }, [string, string, number]>(
    database,
    `SELECT generation_id AS id FROM activity WHERE generation_id >= ? AND generation_id < ?
     ORDER BY generation_id LIMIT 1 OFFSET ?`,
  )
  const copySlots = statement<unknown, [string, string]>(database, COPY_SLOTS)
  const whereEnds = statement<{ below: string }>(database, 'SELECT below FROM window_slots_end')
  const move = statement<unknown, [string]>(database, 'UPDATE window_slots_end SET below = ?')
  /** Null before it was read. */
  let end: string | null = null
  /** Since lines were last brought in. */
  let noted = 0

  /** Text that lies between two ids. */
  const readEnd = (): string => {
    end ??= whereEnds().get()?.below ?? ''
    return end
  }

  /** Brings in the oldest lines, of requests that arrived before `until`; true when there are more of them. */
  const copyBatch = (until: string): boolean => {
    if (!commit.writable) return false
    const from = readEnd()
    if (nth().get(from, until, FEW_LINES) === null) return false
    const next = nth().get(from, until, BATCH_LINES)
    const below = next?.id ?? until
    const isDone = commit.tryWrite(() => {
      copySlots().run(from, below)
      move().run(below)
    })
    if (isDone) end = below
    return isDone && next !== null
  }

  const copyUntil = async (until: string): Promise<void> => {
    while (copyBatch(until)) await nextTurn()
  }

  const copySettled = (): Promise<void> =>
    copyUntil(generationsFrom(later(clock.now(), -SETTLED_MS)))

  return {
    note(keyId, admittedAt, id) {
      if (id < readEnd()) insert().run(keyId, admittedAt, id)
      else if (++noted === BATCH_LINES) {
        noted = 0
        setImmediate(() => copySettled().catch(ignoreTrouble))
      }
    },
    catchUp() {
      commit.flush()
      return copyUntil(generationsFrom(later(clock.now(), 1)))
    },
  }
}
