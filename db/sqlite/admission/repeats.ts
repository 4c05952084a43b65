/** Repetitions: of a request in progress, known in memory by its name, and of one whose answer is kept. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import type { GenerationId, KeyId } from '#domain/id.ts'
import { type Conflict, KEPT_MS, type Repeat, type Repetition } from '#domain/idempotency.ts'
import { TransientMap } from '#runtime/short-lived.ts'
import { type AnswerRow, OTHER_BODY, toRepetition } from '../../rows/answer-row.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import type { OpenHold } from './hot-state.ts'

export interface Repeats {
  /** Null where it is the first of its name. */
  find(keyId: KeyId, repeat: Repeat, at: Instant): Repetition | null
  /** Whether that generation goes by that name, and its end is not committed. */
  isInProgress(keyId: KeyId, name: string, id: GenerationId): boolean
  /** From now on a request of that name repeats this one. */
  began(hold: OpenHold): void
  /** Its end is committed: a request of that name finds its answer, or runs anew. */
  ended(hold: OpenHold): void
}

const RUNNING: Conflict = { is: 'running' }

const nameOf = (keyId: KeyId, name: string): string => `${keyId} ${name}`

export function prepareRepeats({ database }: Connection): Repeats {
  const inProgress = new TransientMap<string, OpenHold>()
  // `whole = 1` is spelled out: SQLite uses the partial index only when it sees the literal.
  const find = statement<AnswerRow, [KeyId, string]>(
    database,
    `SELECT id, body_sha256, generation_id, content_type, bytes, created_at FROM answers
     WHERE key_id = ? AND idempotency_key = ? AND whole = 1`,
  )
  const readPiece = preparePieces(database)

  const findKept = (keyId: KeyId, repeat: Repeat, at: Instant): Repetition | null => {
    const row = find().get(keyId, repeat.key)
    if (row === null || row.created_at <= at - KEPT_MS) return null
    const first = readPiece(row.id, 0)
    return first === null ? null : toRepetition(row, keyId, repeat, first)
  }

  return {
    find(keyId, repeat, at) {
      const running = inProgress.get(nameOf(keyId, repeat.key))
      if (running === undefined) return findKept(keyId, repeat, at)
      return running.claim.repeat?.digest === repeat.digest ? RUNNING : OTHER_BODY
    },
    isInProgress: (keyId, name, id) =>
      inProgress.get(nameOf(keyId, name))?.claim.generationId === id,
    began(hold) {
      const { keyId, repeat } = hold.claim
      if (repeat !== null) inProgress.set(nameOf(keyId, repeat.key), hold)
    },
    ended({ claim: { keyId, repeat } }) {
      if (repeat !== null) inProgress.take(nameOf(keyId, repeat.key))
    },
  }
}

/** Reads the piece of an answer at a place. */
export function preparePieces(database: Database) {
  const piece = statement<{ body: Uint8Array<ArrayBuffer> }, [number, number]>(
    database,
    'SELECT body FROM answer_pieces WHERE answer_id = ? AND place = ?',
  )
  return (id: number, place: number) => piece().get(id, place)?.body ?? null
}
