/** PostgreSQL has no text with a NUL: what two names of end users tell apart by it alone becomes one before it is moved. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import { withoutNul } from '../postgres/engine/bindings.ts'

const hasNul = (column: string): string => `instr(CAST(${column} AS BLOB), x'00') > 0`

/** In the source, of which the ledger stays as it is. Answers how many days of end users were added to another. */
export function joinNames(source: Database, at: Instant): number {
  const before = countDays(source)
  joinDays(source)
  joinEvents(source, at)
  return before - countDays(source)
}

const countDays = (source: Database): number =>
  source.query<{ n: number }, []>('SELECT count(*) AS n FROM end_user_days').get()?.n ?? 0

type EndUserDay = readonly [
  key: string,
  day: number,
  endUser: string,
  spent: number,
  requests: number,
]

function joinDays(source: Database): void {
  const add = source.query(
    `INSERT INTO end_user_days (key_id, day, end_user, spent_nanos, requests) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (key_id, day, end_user) DO UPDATE
     SET spent_nanos = spent_nanos + excluded.spent_nanos, requests = requests + excluded.requests`,
  )
  const taken = source
    .query(
      `DELETE FROM end_user_days WHERE ${hasNul('end_user')}
       RETURNING key_id, day, end_user, spent_nanos, requests`,
    )
    .values() as unknown as readonly EndUserDay[]
  for (const [key, day, endUser, spent, requests] of taken) {
    add.run(key, day, withoutNul(endUser), spent, requests)
  }
}

/** One of a cause and subject is open at a time: a second one is lifted. */
function joinEvents(source: Database, at: Instant): void {
  const rename = source.query(
    `UPDATE events AS e SET subject = ?1, lifted_at = CASE WHEN EXISTS (
       SELECT 1 FROM events o WHERE o.cause = e.cause AND o.subject = ?1 AND o.lifted_at IS NULL) THEN ?2 END
     WHERE id = ?3`,
  )
  const open = source
    .query<{ id: string; subject: string }, []>(
      `SELECT id, subject FROM events WHERE lifted_at IS NULL AND ${hasNul('subject')}`,
    )
    .all()
  for (const { id, subject } of open) rename.run(withoutNul(subject), at, id)
}
