/** A person's row, as all statements select it. */
import type { Instant } from '#domain/clock.ts'
import type { Person, PersonId } from '#signin/register/person.ts'

export interface PersonRow {
  readonly id: PersonId
  readonly email: string
  readonly email_verified: number
  readonly name: string | null
  readonly created_at: Instant
  readonly updated_at: Instant
  readonly last_sign_in_at: Instant | null
  readonly disabled_at: Instant | null
  readonly language: Person['language']
}

export const toPerson = (row: PersonRow | null): Person | undefined =>
  row === null
    ? undefined
    : {
        id: row.id,
        email: row.email,
        isEmailVerified: row.email_verified === 1,
        name: row.name,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
        lastSignInAt: row.last_sign_in_at,
        disabledAt: row.disabled_at,
        language: row.language,
      }
