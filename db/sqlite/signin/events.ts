/** The log of signing in, in SQLite. */
import type { Database } from 'bun:sqlite'
import { eventsFrom } from '#domain/id.ts'
import { ACCEPTED, type SigninEvent, type SigninEvents } from '#signin/register/signin-event.ts'
import { type EventRow, toEvent } from '../../rows/signin-event-row.ts'
import { BEHIND_ALL } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'

/** Writes an event, in the transaction that is open. */
export function prepareNoteEvent(database: Database): (event: SigninEvent) => void {
  const insert = statement<unknown, [Named]>(
    database,
    `INSERT INTO signin_events (id, at, outcome, method, detail, person_id, email, client_id, address)
     VALUES ($id, $at, $outcome, $method, $detail, $personId, $email, $clientId, $address)`,
  )
  return (event) => void insert().run({ ...event })
}

export function createSigninEvents({ database, commit }: Connection): SigninEvents {
  const newest = statement<EventRow, [Named]>(
    database,
    `SELECT e.id, e.at, outcome, method, detail, person_id, ifnull(p.email, e.email) AS email, client_id, address
     FROM signin_events e LEFT JOIN people p ON p.id = e.person_id
     WHERE e.id >= $from AND e.id < $below AND e.id < $before
       AND ($email IS NULL OR person_id = $personId OR e.email = $email COLLATE NOCASE)
       AND ($clientId IS NULL OR client_id = $clientId)
       AND ($outcome IS NULL OR outcome = $outcome)
       AND ($refusals = 0 OR outcome NOT IN (${ACCEPTED.map((outcome) => `'${outcome}'`).join(', ')}))
     ORDER BY e.id DESC LIMIT $limit`,
  )
  const remove = statement<unknown, [Named]>(
    database,
    `DELETE FROM signin_events WHERE id IN
       (SELECT id FROM signin_events WHERE id < $below ORDER BY id LIMIT $limit)`,
  )
  return {
    async list({ person, clientId, outcome, refusalsOnly, since, until, before, limit }) {
      commit.flush()
      const query = {
        personId: person?.id ?? null,
        email: person?.email ?? null,
        clientId: clientId ?? null,
        outcome: outcome ?? null,
        refusals: Number(refusalsOnly === true),
        from: since === undefined ? '' : eventsFrom(since),
        below: until === undefined ? BEHIND_ALL : eventsFrom(until),
        before: before ?? BEHIND_ALL,
        limit,
      }
      return newest().all(query).map(toEvent)
    },
    async trim(before, limit) {
      let gone = 0
      const done = commit.tryWrite(() => {
        gone = remove().run({ below: eventsFrom(before), limit }).changes
      })
      return done ? gone : 0
    },
  }
}
