/** The statements of the tables of kept answers. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import type { GenerationId, KeyId } from '#domain/id.ts'
import type { KeptAnswer } from '#domain/idempotency.ts'
import { statement } from '../engine/statement.ts'

/** Its names are the columns. */
export interface AnswerRow {
  readonly id: number
  readonly body_sha256: string
  readonly generation_id: GenerationId
  readonly content_type: string
  readonly bytes: number
  readonly created_at: Instant
}

/** Begun, and not finished. */
export interface UnfinishedRow extends Pick<AnswerRow, 'id' | 'bytes' | 'generation_id'> {
  readonly keyId: KeyId
  readonly idempotencyKey: string
  /** 1 where no piece of it is missing. */
  readonly is_written: 0 | 1
}

export interface AnswerTable {
  /** Finds complete answers only. */
  find(keyId: KeyId, idempotencyKey: string): AnswerRow | null
  piece(id: number, place: number): Uint8Array<ArrayBuffer> | null
  /** The oldest complete answer; incomplete ones are still being written. */
  oldest(): AnswerRow | null
  /** Over all answers, incomplete ones included. */
  sumBytes(): number
  /** Inserts an incomplete row and returns its id. */
  begin(answer: KeptAnswer): number
  addPiece(id: number, place: number, body: Uint8Array): void
  finish(id: number): void
  /** Its pieces go with it. */
  drop(id: number): void
  /** Removes the last `limit` pieces; returns how many there were. */
  dropPieces(id: number, limit: number): number
  unfinished(): readonly UnfinishedRow[]
  /** Runs a passive WAL checkpoint; call it outside a transaction. */
  checkpoint(): void
}

const COLUMNS = 'id, body_sha256, generation_id, content_type, bytes, created_at'

const UNFINISHED = `
  SELECT id, bytes, generation_id, key_id AS keyId, idempotency_key AS idempotencyKey,
    bytes = (SELECT coalesce(sum(length(body)), 0) FROM answer_pieces WHERE answer_id = answers.id)
      AS is_written
  FROM answers WHERE whole = 0`

/** `whole = 1` is spelled out: SQLite uses the partial index only when it sees the literal. */
export function openAnswerTable(database: Database): AnswerTable {
  const find = statement<AnswerRow, [KeyId, string]>(
    database,
    `SELECT ${COLUMNS} FROM answers WHERE key_id = ? AND idempotency_key = ? AND whole = 1`,
  )
  const piece = statement<{ body: Uint8Array<ArrayBuffer> }, [number, number]>(
    database,
    'SELECT body FROM answer_pieces WHERE answer_id = ? AND place = ?',
  )
  const oldest = statement<AnswerRow>(
    database,
    `SELECT ${COLUMNS} FROM answers WHERE whole = 1 ORDER BY id LIMIT 1`,
  )
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
  const finish = statement<unknown, [number]>(database, 'UPDATE answers SET whole = 1 WHERE id = ?')
  const drop = statement<unknown, [number]>(database, 'DELETE FROM answers WHERE id = ?')
  const dropPieces = statement<unknown, [{ id: number; limit: number }]>(
    database,
    `DELETE FROM answer_pieces WHERE answer_id = $id
       AND place > (SELECT max(place) FROM answer_pieces WHERE answer_id = $id) - $limit`,
  )
  const unfinished = statement<UnfinishedRow>(database, UNFINISHED)
  const fold = statement<unknown>(database, 'PRAGMA wal_checkpoint(PASSIVE)')

  return {
    find: (keyId, idempotencyKey) => find().get(keyId, idempotencyKey),
    piece: (id, place) => piece().get(id, place)?.body ?? null,
    oldest: () => oldest().get(),
    sumBytes: () => sum().get()?.bytes ?? 0,
    begin({ keyId, idempotencyKey, bodySha256, generationId, contentType, body, keptAt }) {
      const row = begin().get(
        keyId,
        idempotencyKey,
        bodySha256,
        generationId,
        contentType,
        body.byteLength,
        keptAt,
      )
      if (row === null) throw new Error('a row that was inserted has no id')
      return row.id
    },
    addPiece: (id, place, body) => void addPiece().run(id, place, body),
    finish: (id) => void finish().run(id),
    drop: (id) => void drop().run(id),
    dropPieces: (id, limit) => dropPieces().run({ id, limit }).changes,
    unfinished: () => unfinished().all(),
    checkpoint: () => void fold().run(),
  }
}
