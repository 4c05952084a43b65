/** Removes old log entries in slices, and records the instant since which the log is complete. */
import type { Activity } from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import { type GenerationId, generationsFrom } from '#domain/id.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

type Slice = {
  readonly before: Instant
  /** A request that arrived after `before` cannot have ended before it. */
  readonly below: GenerationId
  readonly limit: number
}

/** Selected by the end of a request: it may run for longer than the log is kept, and its window slot is needed until it ends. */
const oldest = (columns: string): string => `
  SELECT ${columns} FROM activity
  WHERE generation_id < $below AND started_at + total_ms < $before
  ORDER BY generation_id LIMIT $limit`

const REMOVE = `DELETE FROM activity WHERE generation_id IN (${oldest('generation_id')})`

const FREE = `
  DELETE FROM window_slots
  WHERE (key_id, admitted_at, generation_id) IN (${oldest('key_id, admitted_at, generation_id')})`

const REMEMBER = `
  INSERT INTO kept_since (log, since) VALUES ('activity', ?)
  ON CONFLICT (log) DO UPDATE SET since = max(since, excluded.since)`

export function createActivityTrimmer({
  database,
  commit,
}: Connection): Pick<Activity, 'trim' | 'keptSince'> {
  const remove = statement<unknown, [Slice]>(database, REMOVE)
  const free = statement<unknown, [Slice]>(database, FREE)
  const remember = statement<unknown, [Instant]>(database, REMEMBER)
  const since = statement<{ since: Instant }>(
    database,
    "SELECT since FROM kept_since WHERE log = 'activity'",
  )

  return {
    async trim(before, limit) {
      let gone = 0
      const done = commit.tryWrite(() => {
        const slice = { before, below: generationsFrom(before), limit }
        free().run(slice)
        gone = remove().run(slice).changes
        if (gone > 0) remember().run(before)
      })
      return done ? gone : 0
    },
    async keptSince() {
      return since().get()?.since ?? null
    },
  }
}
