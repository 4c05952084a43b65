/** Kept answers in SQLite, written and read in pieces, so that a large one does not block other requests. */
import {
  type Answers,
  KEPT_MS,
  type KeptAnswer,
  MAX_ANSWER_BYTES,
  type Pay,
} from '#domain/idempotency.ts'
import { openAnswerCache } from './answer-cache.ts'
import { openAnswerTable } from './answer-table.ts'
import type { Connection } from './connection.ts'
import { prepareIsCharged } from './is-charged.ts'
import { nextTurn } from './next-turn.ts'

/** Written in half a millisecond; a whole answer of the longest, written at once, takes a quarter of a second. */
const PIECE_BYTES = 256 * 1024
/** A checkpoint of one megabyte blocks for 5 to 10 ms, one of the usual four megabytes for twice as long. */
const PIECES_PER_CHECKPOINT = 4

const alreadyPaid: Pay = async () => true

/** Also completes or removes answers that an earlier process left incomplete. */
export function createAnswers({ database, commit }: Connection): Answers {
  const table = openAnswerTable(database)
  const cache = openAnswerCache(table, commit)
  const isCharged = prepareIsCharged(database)

  /** Answers of an earlier process: completes those that are charged, removes the others. */
  const endBegun = (): void => {
    for (const begun of table.unfinished()) {
      const isOwed = begun.is_written === 1 && isCharged(begun.generation_id)
      if (isOwed) cache.finish(begun.id, begun)
      else cache.drop(begun)
    }
  }

  const drop = (id: number, { body }: KeptAnswer): void => {
    cache.tryWrite(() => cache.drop({ id, bytes: body.byteLength }))
  }

  /** Writes an answer that cannot be found yet, and returns its id; null if there is no room. */
  const write = async (answer: KeptAnswer): Promise<number | null> => {
    const { body } = answer
    const pieces = Math.max(1, Math.ceil(body.byteLength / PIECE_BYTES))
    let id: number | null = null
    for (let place = 0; place < pieces; place++) {
      if (place > 0) await nextTurn()
      const done = cache.tryWrite(() => {
        if (place === 0) id = cache.begin(answer)
        if (id === null) return
        const from = place * PIECE_BYTES
        table.addPiece(id, place, body.subarray(from, from + PIECE_BYTES))
      })
      if (id === null) return null
      if (!done) {
        drop(id, answer)
        return null
      }
      if (place % PIECES_PER_CHECKPOINT === PIECES_PER_CHECKPOINT - 1) table.checkpoint()
    }
    return id
  }

  cache.tryWrite(endBegun)

  return {
    async find(keyId, idempotencyKey, at) {
      const row = table.find(keyId, idempotencyKey)
      if (row === null || row.created_at <= at - KEPT_MS) return undefined
      const body = new Uint8Array(row.bytes)
      for (let place = 0, filled = 0; filled < row.bytes; place++) {
        if (place > 0) await nextTurn()
        const piece = table.piece(row.id, place)
        // It was evicted while it was being read.
        if (piece === null) return undefined
        body.set(piece, filled)
        filled += piece.byteLength
      }
      return {
        keyId,
        idempotencyKey,
        bodySha256: row.body_sha256,
        generationId: row.generation_id,
        contentType: row.content_type,
        body,
        keptAt: row.created_at,
      }
    },

    async keep(answer, pay = alreadyPaid) {
      if (answer.body.byteLength > MAX_ANSWER_BYTES) return false
      const id = await write(answer)
      if (id === null) return false
      let isDue = false
      try {
        isDue = await pay()
      } finally {
        if (!isDue) drop(id, answer)
      }
      return isDue && cache.tryWrite(() => cache.finish(id, answer))
    },

    async trim(at, limit) {
      let gone = 0
      const done = cache.tryWrite(() => {
        gone = cache.dropDue(at, limit)
      })
      return done ? gone : 0
    },
  }
}
