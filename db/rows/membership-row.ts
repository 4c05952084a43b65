/** A membership as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
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

export const PUT_MEMBERSHIP = `INSERT INTO memberships VALUES ($accountId, $personId, $role, $since)
  ON CONFLICT (account_id, person_id) DO UPDATE SET role = $role`

/** In the transaction of the change: of two owners who take each other's role at once, one is none any more. @throws role_not_allowed, person_not_found */
export function requireExpected(
  member: MembershipRow | null,
  by: MembershipRow | null | 'operator',
): void {
  if (by !== 'operator' && by?.role !== 'owner') {
    throw new GatewayError('role_not_allowed', 'an owner can do this, and you are none any more')
  }
  if (member === null) {
    throw new GatewayError('person_not_found', 'they do not belong to the account any more')
  }
}

/** Whoever belongs to an account, or did, is not invited to it any more. */
export const END_INVITATION = `UPDATE invitations SET ended_at = $at
  WHERE account_id = $accountId AND ended_at IS NULL
    AND email_key = (SELECT email_key FROM people WHERE id = $personId)
  RETURNING email`
