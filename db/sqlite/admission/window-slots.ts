/**
 * An index by key of the window slots in the log, updated in batches of thousands of entries. Updating it with every log entry
 * would write a page for every key of a group. A batch is brought in piece by piece, while requests pass.
 */
import { type Instant, later } from '#domain/clock.ts'
import { type GenerationId, generationsFrom, type KeyId } from '#domain/id.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { Connection } from '../engine/connection.ts'
import { ignoreTrouble } from '../engine/disk.ts'
import { statement } from '../engine/statement.ts'

/**
 * All entries before its end are in the table; later ones are found in the log. An entry is copied with a later batch, or, if
 * a batch has already passed it because its request took long, inserted at once. The end moves with the last piece of a batch: what a
 * reader finds in the table behind it is in the log as well.
 */
export interface WindowSlots {
  /** A line of an admitted request is being written, in the transaction that is open. */
  note(keyId: KeyId, admittedAt: Instant, id: GenerationId): void
  /** Brings in what there is, so that a reader finds little behind the end. What the disk does not take stays where it is. */
  catchUp(): Promise<void>
}

/** So many share the pages of their keys. */
const BATCH_LINES = 4_096
/** Brought in at once: a millisecond. */
const PIECE_SLOTS = 256
/** New lines for each piece: a batch is in before the next is due. */
const LINES_FOR_PIECE = PIECE_SLOTS / 2
/** So few behind the end are read faster than they are brought in. */
const FEW_LINES = 256
/** Most requests are over by then, and need not bring themselves in. */
const SETTLED_MS = 2_000

type Slot = readonly [KeyId, Instant, GenerationId]

/** Lines from the end on, below an id. */
interface Batch {
  readonly below: string
  /** The last slot of each piece but the last. */
  readonly cuts: readonly Slot[]
  /** How many pieces are in. */
  done: number
}

const SLOT = 'key_id, admitted_at, generation_id'
const SLOTS = `SELECT ${SLOT} FROM activity WHERE generation_id >= ?1 AND generation_id < ?2 AND admitted = 1`
/** The keys by themselves are compared sooner. */
const COPY_PIECE = `
  INSERT OR IGNORE INTO window_slots (${SLOT})
  ${SLOTS} AND key_id BETWEEN ?3 AND ?6 AND (${SLOT}) > (?3, ?4, ?5) AND (${SLOT}) <= (?6, ?7, ?8) ORDER BY ${SLOT}`

const BEFORE_ALL: Slot = ['' as KeyId, 0 as Instant, '' as GenerationId]
const BEHIND_ALL: Slot = ['~' as KeyId, 0 as Instant, '' as GenerationId]

export function openWindowSlots({ database, commit, clock }: Connection): WindowSlots {
  const insert = statement<unknown, [...Slot]>(
    database,
    `INSERT OR IGNORE INTO window_slots (${SLOT}) VALUES (?, ?, ?)`,
  )
  const nth = statement<{ id: string }, [string, string, number]>(
    database,
    `SELECT generation_id AS id FROM activity WHERE generation_id >= ? AND generation_id < ?
     ORDER BY generation_id LIMIT 1 OFFSET ?`,
  )
  const sorted = statement<unknown, [string, string]>(database, `${SLOTS} ORDER BY ${SLOT}`)
  const copyPiece = statement<unknown, [string, string, ...Slot, ...Slot]>(database, COPY_PIECE)
  const whereEnds = statement<{ below: string }>(database, 'SELECT below FROM window_slots_end')
  const move = statement<unknown, [string]>(database, 'UPDATE window_slots_end SET below = ?')
  /** Null before it was read. */
  let end: string | null = null
  /** What is being brought in. */
  let batch: Batch | null = null
  /** Lines for which no batch was begun yet. */
  let noted = 0
  let isKeepingUp = false

  /** Text that lies between two ids. */
  const readEnd = (): string => {
    end ??= whereEnds().get()?.below ?? ''
    return end
  }

  /** The oldest lines, of requests that arrived before `until`; null where there are few. */
  const beginBatch = (until: string): Batch | null => {
    noted = Math.max(0, noted - BATCH_LINES)
    const from = readEnd()
    if (nth().get(from, until, FEW_LINES) === null) return null
    const below = nth().get(from, until, BATCH_LINES)?.id ?? until
    const slots = sorted().values(from, below) as unknown as readonly Slot[]
    const cuts = slots.filter((_, place) => place % PIECE_SLOTS === PIECE_SLOTS - 1)
    return { below, cuts, done: 0 }
  }

  /** Brings in the next piece, of a new batch where none is under way; true when there may be more of them. */
  const bringIn = (until: string): boolean => {
    if (!commit.writable) return false
    batch ??= beginBatch(until)
    if (batch === null) return false
    const { below, cuts, done } = batch
    const isLast = done === cuts.length
    const isDone = commit.tryWrite(() => {
      copyPiece().run(
        readEnd(),
        below,
        ...(cuts[done - 1] ?? BEFORE_ALL),
        ...(cuts[done] ?? BEHIND_ALL),
      )
      if (isLast) move().run(below)
    })
    if (!isDone) return false
    batch.done++
    if (isLast) {
      end = below
      batch = null
    }
    return true
  }

  const isDue = (): boolean =>
    noted >= (batch === null ? BATCH_LINES : batch.done * LINES_FOR_PIECE)

  const keepUp = async (): Promise<void> => {
    try {
      while (isDue() && bringIn(generationsFrom(later(clock.now(), -SETTLED_MS)))) await nextTurn()
    } finally {
      isKeepingUp = false
    }
  }

  return {
    note(keyId, admittedAt, id) {
      if (id < (batch?.below ?? readEnd())) {
        insert().run(keyId, admittedAt, id)
        return
      }
      noted++
      if (isKeepingUp || !isDue()) return
      isKeepingUp = true
      setImmediate(() => keepUp().catch(ignoreTrouble))
    },
    async catchUp() {
      commit.flush()
      const until = generationsFrom(later(clock.now(), 1))
      while (bringIn(until)) await nextTurn()
    },
  }
}
