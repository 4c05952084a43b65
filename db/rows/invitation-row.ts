/** An invitation as its row, what both engines ask of it, and as the register's noun. */
import { DAY_MS, type Instant, later } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { Invitation, InvitationId, InvitationRefusal } from '#signin/register/invitation.ts'
import type { Role } from '#signin/register/membership.ts'

export interface InvitationRow {
  readonly id: InvitationId
  readonly account_id: AccountId
  readonly email: string
  readonly role: Role
  readonly sent_by: string | null
  readonly sent_at: Instant
  readonly expires_at: Instant
}

/** It lasts no longer than its account is open, and than whoever sent it is an owner there. */
const PENDING = `ended_at IS NULL AND expires_at > $at
  AND EXISTS (SELECT 1 FROM accounts WHERE id = invitations.account_id AND closed_at IS NULL)
  AND (sent_by IS NULL OR EXISTS (
    SELECT 1 FROM memberships JOIN people AS sender ON sender.id = person_id
    WHERE memberships.account_id = invitations.account_id AND memberships.role = 'owner'
      AND sender.email = sent_by AND sender.disabled_at IS NULL))`

export const OF_PERSON = `SELECT invitations.* FROM invitations JOIN people USING (email_key)
  WHERE invitations.id = $id AND people.id = $personId AND email_verified = 1 AND people.disabled_at IS NULL AND ${PENDING}`

export const OF_ACCOUNT = `SELECT * FROM invitations WHERE account_id = $accountId AND ${PENDING} ORDER BY sent_at, id`

export const TO_ADDRESS = `SELECT * FROM invitations WHERE email_key = $key AND ${PENDING} ORDER BY sent_at, id`

/** One of the last day counts to what may be sent in it. */
export const SWEEP = `DELETE FROM invitations WHERE id IN (
  SELECT id FROM invitations WHERE sent_at <= $since AND (ended_at IS NOT NULL OR expires_at <= $at) LIMIT $limit)`

export const refusal = (
  of: string,
  { sent_at }: Pick<InvitationRow, 'sent_at'>,
): InvitationRefusal => ({
  of: of as InvitationRefusal['of'],
  nextAt: later(sent_at, DAY_MS),
})

export const toInvitation = (row: InvitationRow): Invitation => ({
  id: row.id,
  accountId: row.account_id,
  email: row.email,
  role: row.role,
  by: row.sent_by,
  sentAt: row.sent_at,
  expiresAt: row.expires_at,
})
