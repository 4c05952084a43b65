/** The store of kept answers, bounded in bytes: adds answers, and evicts the oldest. */
import type { Instant } from '#domain/clock.ts'
import { KEPT_MS, type KeptAnswer, MAX_KEPT_BYTES } from '#domain/idempotency.ts'
import type { GroupCommit } from '../engine/group-commit.ts'
import type { AnswerRow, AnswerTable } from './answer-table.ts'

export interface AnswerCache {
  /** Runs `write` in a transaction of its own; every other method must be called in one. False when it was not committed. */
  tryWrite(write: () => void): boolean
  /** Inserts an incomplete row and returns its id; null if there is no room. */
  begin(answer: KeptAnswer): number | null
  /** Marks the row as complete, replacing any earlier answer. */
  finish(id: number, answer: Pick<KeptAnswer, 'keyId' | 'idempotencyKey'>): void
  drop(row: Pick<AnswerRow, 'id' | 'bytes'>): void
  /** Removes answers that have expired at `at`, at most `limit` pieces; returns how many. */
  dropDue(at: Instant, limit: number): number
}

export function openAnswerCache(table: AnswerTable, commit: GroupCommit): AnswerCache {
  /** Null if it must be summed again, after a rollback. */
  let keptBytes: number | null = null

  const drop = ({ id, bytes }: Pick<AnswerRow, 'id' | 'bytes'>): void => {
    table.drop(id)
    if (keptBytes !== null) keptBytes -= bytes
  }

  /** Evicts the oldest answers as far as needed; false if there is still no room. Expired ones are the sweeper's. */
  const makeRoom = ({ body }: KeptAnswer): boolean => {
    keptBytes ??= table.sumBytes()
    while (keptBytes + body.byteLength > MAX_KEPT_BYTES) {
      const oldest = table.oldest()
      if (oldest === null) return false
      drop(oldest)
    }
    return true
  }

  return {
    tryWrite(write) {
      let done = false
      try {
        done = commit.tryWrite(write)
      } finally {
        if (!done) keptBytes = null
      }
      return done
    },
    begin(answer) {
      if (!makeRoom(answer)) return null
      keptBytes = (keptBytes ?? 0) + answer.body.byteLength
      return table.begin(answer)
    },
    finish(id, { keyId, idempotencyKey }) {
      const before = table.find(keyId, idempotencyKey)
      if (before) drop(before)
      table.finish(id)
    },
    drop,
    /** The row is removed with its last piece; until then it cannot be found, because it has expired. */
    dropDue(at, limit) {
      let gone = 0
      while (gone < limit) {
        const oldest = table.oldest()
        if (oldest === null || oldest.created_at > at - KEPT_MS) return gone
        gone += table.dropPieces(oldest.id, limit - gone)
        if (gone < limit) drop(oldest)
      }
      return gone
    },
  }
}
