/** Reads a key's sliding windows back from the log, so that they survive a restart and a change of limits. */
import type { Instant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { Window } from '#domain/window.ts'
import type { Connection } from './connection.ts'
import { statement } from './statement.ts'

export interface WindowReader {
  /** The newest `limit` requests of the span, which are all that decide when a slot frees; null without a limit. */
  read(id: KeyId, spanMs: number, limit: number | null, now: Instant): Window | null
  /** How many requests were admitted in the span. */
  count(id: KeyId, spanMs: number, now: Instant): number
}

/** `admitted = 1` is spelled out: SQLite uses the partial index only when it sees the literal. */
const ADMITTED = `
  SELECT admitted_at FROM activity WHERE key_id = $id AND admitted = 1 AND admitted_at > $after
  UNION ALL
  SELECT admitted_at FROM holds WHERE key_id = $id AND admitted_at > $after`

type Span = { readonly id: KeyId; readonly after: number }

export function prepareWindowReader({ database, commit }: Connection): WindowReader {
  const newest = statement<{ admitted_at: Instant }, [Span & { limit: number }]>(
    database,
    `SELECT admitted_at FROM (${ADMITTED}) ORDER BY admitted_at DESC LIMIT $limit`,
  )
  const count = statement<{ requests: number }, [Span]>(
    database,
    `SELECT count(*) AS requests FROM (${ADMITTED})`,
  )
  return {
    read(id, spanMs, limit, now) {
      if (limit === null) return null
      commit.flush()
      const window = new Window(spanMs)
      const rows = newest().all({ id, after: now - spanMs, limit })
      for (const { admitted_at } of rows.reverse()) window.take(admitted_at)
      return window
    },
    count(id, spanMs, now) {
      commit.flush()
      return count().get({ id, after: now - spanMs })?.requests ?? 0
    },
  }
}
