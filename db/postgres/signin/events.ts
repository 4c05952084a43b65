/** The log of signing in, in PostgreSQL. */
import { eventsFrom } from '#domain/id.ts'
import { ACCEPTED, type SigninEvent, type SigninEvents } from '#signin/register/signin-event.ts'
import { type EventRow, toEvent } from '../../rows/signin-event-row.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import type { Database, Sql } from '../engine/database.ts'

/** Writes an event, in the transaction that is open. */
export async function noteEvent(tx: Sql, event: SigninEvent): Promise<void> {
  await tx.run(
    `INSERT INTO signin_events (id, at, outcome, method, detail, person_id, email, client_id, address)
     VALUES ($id, $at, $outcome, $method, $detail, $personId, $email, $clientId, $address)`,
    { ...event },
  )
}

export const createSigninEvents = (database: Database): SigninEvents => ({
  async list({ person, clientId, outcome, refusalsOnly, since, until, before, limit }) {
    const rows = await database.all<EventRow>(
      `SELECT e.id, e.at, outcome, method, detail, person_id, coalesce(p.email, e.email) AS email, client_id, address
       FROM signin_events e LEFT JOIN people p ON p.id = e.person_id
       WHERE e.id >= $from AND e.id < $below AND e.id < $before
         AND ($email::text IS NULL OR person_id = $personId OR lower(e.email) = lower($email))
         AND ($clientId::text IS NULL OR client_id = $clientId)
         AND ($outcome::text IS NULL OR outcome = $outcome)
         AND (NOT $refusals::boolean OR outcome <> ALL ($accepted::text[]))
       ORDER BY e.id DESC LIMIT $limit`,
      {
        personId: person?.id ?? null,
        email: person?.email ?? null,
        clientId: clientId ?? null,
        outcome: outcome ?? null,
        refusals: refusalsOnly === true,
        accepted: ACCEPTED,
        from: since === undefined ? '' : eventsFrom(since),
        below: until === undefined ? BEHIND_ALL : eventsFrom(until),
        before: before ?? BEHIND_ALL,
        limit,
      },
    )
    return rows.map(toEvent)
  },
  trim: (before, limit) =>
    database.run(
      'DELETE FROM signin_events WHERE id IN (SELECT id FROM signin_events WHERE id < ? ORDER BY id LIMIT ?)',
      eventsFrom(before),
      limit,
    ),
})
