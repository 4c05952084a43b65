/** Kept answers in SQLite, written and read in pieces, so that a large one does not block other requests. */
import {
  type Answers,
  KEPT_MS,
  type KeptAnswer,
  MAX_ANSWER_BYTES,
  MAX_PIECE_BYTES,
  type Pay,
} from '#domain/idempotency.ts'
import type { Connection } from '../engine/connection.ts'
import { nextTurn } from '../engine/next-turn.ts'
import { prepareIsCharged } from '../money/is-charged.ts'
import { openAnswerCache } from './answer-cache.ts'
import { openAnswerTable } from './answer-table.ts'

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
    const pieces = Math.max(1, Math.ceil(body.byteLength / MAX_PIECE_BYTES))
    let id: number | null = null
    for (let place = 0; place < pieces; place++) {
      if (place > 0) await nextTurn()
      const done = cache.tryWrite(() => {
        if (place === 0) id = cache.begin(answer)
        if (id === null) return
        const from = place * MAX_PIECE_BYTES
        table.addPiece(id, place, body.subarray(from, from + MAX_PIECE_BYTES))
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
      const first = table.piece(row.id, 0)
      if (first === null) return undefined
      return {
        id: row.id,
        keyId,
        idempotencyKey,
        bodySha256: row.body_sha256,
        generationId: row.generation_id,
        contentType: row.content_type,
        bytes: row.bytes,
        first,
        keptAt: row.created_at,
      }
    },

    piece: async (id, place) => table.piece(id, place) ?? undefined,

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
