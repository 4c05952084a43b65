/** Kept answers in SQLite, written and read in pieces, so that a large one does not block other requests. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import type { GenerationId, KeyId } from '#domain/id.ts'
import {
  type Answers,
  KEPT_MS,
  type KeptAnswer,
  MAX_ANSWER_BYTES,
  MAX_KEPT_BYTES,
  MAX_PIECE_BYTES,
} from '#domain/idempotency.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { preparePieces, type Repeats } from './repeats.ts'

/** A checkpoint of one megabyte blocks for 5 to 10 ms, one of the usual four megabytes for twice as long. */
const PIECES_PER_CHECKPOINT = 4

export function createAnswers({ database, commit }: Connection, repeats: Repeats): Answers {
  const table = prepareTable(database)
  const readPiece = preparePieces(database)
  /** Of all answers; null if it must be summed again, after a rollback. */
  let keptBytes: number | null = null

  /** Runs `write` in a transaction of its own. False if the disk refused it. */
  const tryWrite = (write: () => void): boolean => {
    let isDone = false
    try {
      isDone = commit.tryWrite(write)
    } finally {
      if (!isDone) keptBytes = null
    }
    return isDone
  }

  const drop = ({ id, bytes }: Pick<AnswerRow, 'id' | 'bytes'>): void => {
    table.drop(id)
    if (keptBytes !== null) keptBytes -= bytes
  }

  /** One that was staged and never shown: its admission has ended without it, or its process has died. */
  const findLeft = (): AnswerRow | null =>
    table
      .staged()
      .find((row) => !repeats.isInProgress(row.key_id, row.idempotency_key, row.generation_id)) ??
    null

  const findExpired = (at: Instant): AnswerRow | null => {
    const oldest = table.oldest()
    return oldest !== null && oldest.created_at <= at - KEPT_MS ? oldest : null
  }

  /** Evicts the oldest as far as needed; false if there is still no room. Expired ones are the sweeper's. */
  const makeRoom = (bytes: number): boolean => {
    keptBytes ??= table.sumBytes()
    while (keptBytes + bytes > MAX_KEPT_BYTES) {
      const oldest = findLeft() ?? table.oldest()
      if (oldest === null) return false
      drop(oldest)
    }
    keptBytes += bytes
    return true
  }

  return {
    find: async (...asked) => repeats.find(...asked),

    piece: async (id, place) => readPiece(id, place) ?? undefined,

    async stage(answer) {
      const { body } = answer
      const bytes = body.byteLength
      if (bytes > MAX_ANSWER_BYTES) return null
      const pieces = Math.max(1, Math.ceil(bytes / MAX_PIECE_BYTES))
      let id: number | null = null
      for (let place = 0; place < pieces; place++) {
        if (place > 0) await nextTurn()
        const isDone = tryWrite(() => {
          if (place === 0) id = makeRoom(bytes) ? table.begin(answer) : null
          if (id === null) return
          const from = place * MAX_PIECE_BYTES
          table.addPiece(id, place, body.subarray(from, from + MAX_PIECE_BYTES))
        })
        if (id === null) return null
        if (!isDone) {
          const begun = { id, bytes }
          tryWrite(() => drop(begun))
          return null
        }
        if (place % PIECES_PER_CHECKPOINT === PIECES_PER_CHECKPOINT - 1) table.checkpoint()
      }
      return id === null ? null : { id }
    },

    /** A row is removed with its last piece; until then it cannot be found. */
    async trim(at, limit) {
      let gone = 0
      const isDone = tryWrite(() => {
        while (gone < limit) {
          const due = findLeft() ?? findExpired(at)
          if (due === null) return
          gone += table.dropPieces(due.id, limit - gone)
          if (gone < limit) drop(due)
        }
      })
      return isDone ? gone : 0
    },
  }
}

/** Its names are the columns. */
interface AnswerRow {
  readonly id: number
  readonly key_id: KeyId
  readonly idempotency_key: string
  readonly bytes: number
  readonly generation_id: GenerationId
  readonly created_at: Instant
}

/** The literals of `whole` are spelled out: SQLite uses a partial index only when it sees them. */
function prepareTable(database: Database) {
  const columns =
    'SELECT id, key_id, idempotency_key, bytes, generation_id, created_at FROM answers WHERE'
  const staged = statement<AnswerRow>(database, `${columns} whole = 0 ORDER BY id`)
  const oldest = statement<AnswerRow>(database, `${columns} whole = 1 ORDER BY id LIMIT 1`)
  const sum = statement<{ bytes: number }>(
    database,
    'SELECT coalesce(sum(bytes), 0) AS bytes FROM answers',
  )
  const begin = statement<{ id: number }, [KeyId, string, string, string, string, number, Instant]>(
    database,
    `INSERT INTO answers
       (key_id, idempotency_key, body_sha256, generation_id, content_type, bytes, created_at, whole)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0) RETURNING id`,
  )
  const addPiece = statement<unknown, [number, number, Uint8Array]>(
    database,
    'INSERT INTO answer_pieces (answer_id, place, body) VALUES (?, ?, ?)',
  )
  const drop = statement<unknown, [number]>(database, 'DELETE FROM answers WHERE id = ?')
  const dropPieces = statement<unknown, [{ id: number; limit: number }]>(
    database,
    `DELETE FROM answer_pieces WHERE answer_id = $id
       AND place > (SELECT max(place) FROM answer_pieces WHERE answer_id = $id) - $limit`,
  )
  const fold = statement<unknown>(database, 'PRAGMA wal_checkpoint(PASSIVE)')

  return {
    staged: () => staged().all(),
    oldest: () => oldest().get(),
    sumBytes: () => sum().get()?.bytes ?? 0,
    begin({ keyId, repeat, generationId, contentType, body, keptAt }: KeptAnswer): number {
      const { key, digest } = repeat
      const bytes = body.byteLength
      const row = begin().get(keyId, key, digest, generationId, contentType, bytes, keptAt)
      if (row === null) throw new Error('a row that was inserted has no id')
      return row.id
    },
    addPiece: (id: number, place: number, body: Uint8Array) => void addPiece().run(id, place, body),
    /** Its pieces go with it. */
    drop: (id: number) => void drop().run(id),
    /** Removes the last `limit` pieces; returns how many there were. */
    dropPieces: (id: number, limit: number) => dropPieces().run({ id, limit }).changes,
    /** Runs a passive WAL checkpoint; call it outside a transaction. */
    checkpoint: () => void fold().run(),
  }
}
