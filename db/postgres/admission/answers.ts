/** Kept answers in PostgreSQL, in pieces, so that a large one takes little memory. */
import type { Instant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import {
  type Answers,
  KEPT_MS,
  MAX_ANSWER_BYTES,
  MAX_KEPT_BYTES,
  MAX_PIECE_BYTES,
  type Repeat,
  type Repetition,
} from '#domain/idempotency.ts'
import { type AnswerRow, OTHER_BODY, toRepetition } from '../../rows/answer-row.ts'
import { type Database, ONE_AT_A_TIME, type Sql } from '../engine/database.ts'
import { untilDone } from '../engine/errors.ts'

type Body = Uint8Array<ArrayBuffer>

/** An answer, found by its name; null where there is none. */
export async function findKept(
  sql: Sql,
  keyId: KeyId,
  repeat: Repeat,
  at: Instant,
): Promise<Repetition | null> {
  const row = await sql.get<AnswerRow & { readonly body: Buffer }>(
    `SELECT a.*, p.body FROM answers a JOIN answer_pieces p ON p.answer_id = a.id AND p.place = 0
     WHERE key_id = ? AND idempotency_key = ? AND whole AND created_at > ?`,
    keyId,
    repeat.key,
    at - KEPT_MS,
  )
  return row === null ? null : toRepetition(row, keyId, repeat, toBody(row.body))
}

const toBody = (body: Buffer): Body => new Uint8Array(body)

/** One that was staged and never shown: its admission is resolved. */
const LEFT = `NOT whole AND NOT EXISTS (SELECT FROM holds h WHERE h.generation_id = answers.generation_id)`

/** For so long a node does not look at what others have staged: by so much all of them may keep more than the bound. */
const READ_MS = 1_000

interface Room {
  /** Evicts the oldest as far as needed; false if there is still no room. */
  make(tx: Sql, bytes: number): Promise<boolean>
  /** How much is kept is to be read again. */
  forget(): void
}

function prepareRoom(database: Database): Room {
  /** Of all answers, as this node last read it, and what it has staged since. */
  let kept: { bytes: number; readonly at: Instant } | null = null

  const readAnew = async (tx: Sql): Promise<number> => {
    const at = database.clock.now()
    const row = await tx.get<{ bytes: number }>(
      'SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM answers',
    )
    kept = { bytes: row?.bytes ?? 0, at }
    return kept.bytes
  }
  const read = async (tx: Sql): Promise<number> =>
    kept === null || Math.abs(database.clock.now() - kept.at) >= READ_MS
      ? await readAnew(tx)
      : kept.bytes

  return {
    async make(tx, bytes) {
      if ((await read(tx)) + bytes > MAX_KEPT_BYTES) {
        // Who evicts sees what another has evicted and staged meanwhile.
        await tx.run(ONE_AT_A_TIME)
        const excess = (await readAnew(tx)) + bytes - MAX_KEPT_BYTES
        await tx.run(
          `DELETE FROM answers WHERE id IN (
             SELECT id FROM (SELECT id, sum(bytes) OVER (ORDER BY whole, id) - bytes AS before FROM answers WHERE whole OR ${LEFT}) oldest
             WHERE before < ?)`,
          excess,
        )
        if ((await readAnew(tx)) + bytes > MAX_KEPT_BYTES) return false
      }
      if (kept !== null) kept.bytes += bytes
      return true
    },
    forget() {
      kept = null
    },
  }
}

const putPiece = (tx: Sql, id: number, body: Uint8Array, place: number): Promise<number> =>
  tx.run(
    'INSERT INTO answer_pieces (answer_id, place, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    id,
    place,
    Buffer.from(body.subarray(place * MAX_PIECE_BYTES, (place + 1) * MAX_PIECE_BYTES)),
  )

export function createAnswers(database: Database): Answers {
  const room = prepareRoom(database)
  /** Waits for the database, as the charge does that follows: one that was charged and not kept is charged again when it is asked for again. */
  const inTheEnd = <T>(write: (tx: Sql) => Promise<T>): Promise<T> =>
    untilDone(() => database.transact(write, Number.POSITIVE_INFINITY))

  return {
    async find(keyId, repeat, at) {
      await database.flush()
      const running = await database.get<{ body_sha256: string }>(
        'SELECT body_sha256 FROM holds WHERE key_id = ? AND idempotency_key = ?',
        keyId,
        repeat.key,
      )
      if (running === null) return await findKept(database, keyId, repeat, at)
      return running.body_sha256 === repeat.digest ? { is: 'running' } : OTHER_BODY
    },

    async piece(id, place) {
      const row = await database.get<{ body: Buffer }>(
        'SELECT body FROM answer_pieces WHERE answer_id = ? AND place = ?',
        id,
        place,
      )
      return row === null ? undefined : toBody(row.body)
    },

    async stage({ keyId, repeat, generationId, contentType, body, keptAt }) {
      const bytes = body.byteLength
      if (bytes > MAX_ANSWER_BYTES) return null
      const id = await inTheEnd(async (tx) => {
        if (!(await room.make(tx, bytes))) return null
        const row = await tx.get<{ id: number }>(
          `INSERT INTO answers (key_id, idempotency_key, body_sha256, generation_id, content_type, bytes, created_at, whole)
           VALUES (?, ?, ?, ?, ?, ?, ?, false) RETURNING id`,
          keyId,
          repeat.key,
          repeat.digest,
          generationId,
          contentType,
          bytes,
          keptAt,
        )
        if (row === null) throw new Error('a row that was inserted has no id')
        await putPiece(tx, row.id, body, 0)
        return row.id
      })
      if (id === null) return null
      for (let place = 1; place * MAX_PIECE_BYTES < bytes; place++)
        await inTheEnd((tx) => putPiece(tx, id, body, place))
      return { id }
    },

    /** A row is removed with its last piece; until then it cannot be found. */
    trim: (at, limit) =>
      database.transact(async (tx) => {
        room.forget()
        let gone = 0
        while (gone < limit) {
          const due = await tx.get<{ id: number }>(
            `SELECT id FROM answers WHERE ${LEFT} OR (whole AND created_at <= ?) ORDER BY whole, id LIMIT 1`,
            at - KEPT_MS,
          )
          if (due === null) return gone
          gone += await tx.run(
            `DELETE FROM answer_pieces WHERE answer_id = $id
               AND place > (SELECT max(place) FROM answer_pieces WHERE answer_id = $id) - $left`,
            { id: due.id, left: limit - gone },
          )
          if (gone < limit) await tx.run('DELETE FROM answers WHERE id = ?', due.id)
        }
        return gone
      }),
  }
}
