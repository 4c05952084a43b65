/** An invitation as its row, what both engines ask of it, and as the register's noun. */
import { DAY_MS, type Instant, later } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { emailKey } from '#signin/register/email.ts'
import {
  INVITATION_MAIL_MS,
  type Invitation,
  type InvitationId,
  type InvitationRefusal,
  invitationMailName,
  MAX_INVITATIONS,
} from '#signin/register/invitation.ts'
import type { NewMail } from '#signin/register/mail-code.ts'
import type { Role } from '#signin/register/membership.ts'
import type { Vault } from '../vault.ts'
import { type SealedMail, sealMail } from './code-mail-row.ts'

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

export const ADD = `INSERT INTO invitations (id, account_id, email, email_key, role, sent_by, sent_at, expires_at)
  VALUES ($id, $accountId, $email, $key, $role, $by, $sentAt, $expiresAt)`

/** One to the same address. */
export const END_EARLIER = `UPDATE invitations SET ended_at = $at
  WHERE account_id = $accountId AND email_key = $key AND ended_at IS NULL`

export const END = `UPDATE invitations SET ended_at = $at WHERE id = $id AND ended_at IS NULL AND expires_at > $at
  RETURNING *`

/** The one of the last day that another has to wait for, of all or to an address. */
export const NTH_NEWEST = `SELECT sent_at FROM invitations
  WHERE account_id = $accountId AND sent_at > $since AND (CAST($key AS text) IS NULL OR email_key = $key)
  ORDER BY sent_at DESC LIMIT 1 OFFSET $before`

/** What `NTH_NEWEST` is asked before one is sent. */
export const boundsOf = ({ accountId, email, sentAt }: Invitation) => {
  const of = { accountId, since: later(sentAt, -DAY_MS) }
  return [
    { by: 'address', asked: { ...of, key: emailKey(email), before: MAX_INVITATIONS.address - 1 } },
    { by: 'account', asked: { ...of, key: null, before: MAX_INVITATIONS.account - 1 } },
  ] as const
}

export const refusal = (
  of: InvitationRefusal['of'],
  { sent_at }: Pick<InvitationRow, 'sent_at'>,
): InvitationRefusal => ({ of, nextAt: later(sent_at, DAY_MS) })

export const sealInvitationMail = (
  vault: Vault,
  { accountId, email, sentAt: at }: Invitation,
  { id, mail }: NewMail,
): SealedMail => ({
  interaction: invitationMailName(accountId, email),
  id,
  sealed: sealMail(vault, id, mail),
  at,
  expiresAt: later(at, INVITATION_MAIL_MS),
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
