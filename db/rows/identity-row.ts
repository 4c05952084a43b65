/** An identity at a third party as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { Identity } from '#signin/register/identity.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface IdentityRow {
  readonly issuer: string
  readonly subject: string
  readonly person_id: PersonId
  readonly told_name: string | null
  readonly linked_at: Instant
  readonly last_used_at: Instant
}

export const toIdentity = (row: IdentityRow): Identity => ({
  issuer: row.issuer,
  subject: row.subject,
  personId: row.person_id,
  claimedName: row.told_name,
  linkedAt: row.linked_at,
  lastUsedAt: row.last_used_at,
})
