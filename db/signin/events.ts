/** The log of signing in. */
import type { Instant } from '#domain/clock.ts'
import { type EventId, eventsFrom } from '#domain/id.ts'
import type { PersonId } from '#signin/register/person.ts'
import {
  ACCEPTED,
  type ListedSigninEvent,
  type SigninEvent,
  type SigninEvents,
} from '#signin/register/signin-event.ts'
import { BEHIND_ALL } from '../rows/slice.ts'
import { all, type Engine, run, type Statements } from '../statements.ts'

interface EventRow {
  readonly id: EventId
  readonly at: Instant
  readonly outcome: string
  readonly method: string | null
  readonly detail: string | null
  readonly person_id: PersonId | null
  readonly email: string | null
  readonly client_id: string | null
  readonly address: string
}

const toEvent = ({
  person_id: personId,
  client_id: clientId,
  ...row
}: EventRow): ListedSigninEvent => ({ ...row, personId, clientId })

/** Writes an event, in the transaction that is open. */
export function* noteEvent(event: SigninEvent): Statements<void> {
  yield* run(
    `INSERT INTO signin_events (id, at, outcome, method, detail, person_id, email, client_id, address)
     VALUES ($id, $at, $outcome, $method, $detail, $personId, $email, $clientId, $address)`,
    { ...event },
  )
}

const REFUSALS = `outcome NOT IN (${ACCEPTED.map((outcome) => `'${outcome}'`).join(', ')})`

export const createSigninEvents = (engine: Engine): SigninEvents => ({
  async list({ person, clientId, outcome, refusalsOnly, since, until, before, limit }) {
    const rows = await engine.read(() =>
      all<EventRow>(
        `SELECT e.id, e.at, outcome, method, detail, person_id, coalesce(p.email, e.email) AS email, client_id, address
         FROM signin_events e LEFT JOIN people p ON p.id = e.person_id
         WHERE e.id >= $from AND e.id < $below AND e.id < $before
           AND (CAST($email AS text) IS NULL OR person_id = $personId OR lower(e.email) = lower($email))
           AND (CAST($clientId AS text) IS NULL OR client_id = $clientId)
           AND (CAST($outcome AS text) IS NULL OR outcome = $outcome)
           ${refusalsOnly === true ? `AND ${REFUSALS}` : ''}
         ORDER BY e.id DESC LIMIT $limit`,
        {
          personId: person?.id ?? null,
          email: person?.email ?? null,
          clientId: clientId ?? null,
          outcome: outcome ?? null,
          from: since === undefined ? '' : eventsFrom(since),
          below: until === undefined ? BEHIND_ALL : eventsFrom(until),
          before: before ?? BEHIND_ALL,
          limit,
        },
      ),
    )
    return rows.map(toEvent)
  },
  trim: (before, limit) =>
    engine.tryRun(
      `DELETE FROM signin_events WHERE id IN
         (SELECT id FROM signin_events WHERE id < $below ORDER BY id LIMIT $limit)`,
      { below: eventsFrom(before), limit },
    ),
})
