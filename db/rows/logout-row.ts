/** A session that has ended, of which an application is yet to be told, as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { WaitingLogout } from '#signin/register/logout.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface LogoutRow {
  readonly id: string
  readonly client_id: string
  readonly person_id: PersonId
  readonly sid: string
  readonly tries: number
  readonly ended_at: Instant
}

export const toWaiting = ({
  client_id,
  person_id,
  ended_at,
  ...row
}: LogoutRow): WaitingLogout => ({
  id: row.id,
  clientId: client_id,
  personId: person_id,
  sid: row.sid,
  tries: row.tries,
  endedAt: ended_at,
})
