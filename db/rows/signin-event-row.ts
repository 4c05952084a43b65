/** A line of the log of signing in as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { EventId } from '#domain/id.ts'
import type { PersonId } from '#signin/register/person.ts'
import type { ListedSigninEvent } from '#signin/register/signin-event.ts'

export interface EventRow {
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

export const toEvent = ({
  person_id: personId,
  client_id: clientId,
  ...row
}: EventRow): ListedSigninEvent => ({ ...row, personId, clientId })
