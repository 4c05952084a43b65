/** A membership as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { Membership, Role } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface MembershipRow {
  readonly account_id: AccountId
  readonly person_id: PersonId
  readonly role: Role
  readonly since: Instant
}

export const toMembership = (row: MembershipRow): Membership => ({
  accountId: row.account_id,
  personId: row.person_id,
  role: row.role,
  since: row.since,
})
