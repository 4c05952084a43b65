/** Invitations. */
import { DAY_MS, type Instant, later } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { emailKey } from '#signin/register/email.ts'
import {
  INVITATION_MAIL_MS,
  type Invitation,
  type InvitationId,
  type InvitationRefusal,
  type Invitations,
  invitationMailName,
  MAX_INVITATIONS,
} from '#signin/register/invitation.ts'
import type { NewMail } from '#signin/register/mail-code.ts'
import type { Role } from '#signin/register/membership.ts'
import { noteAct } from '../log/acts.ts'
import { requireVault } from '../require-vault.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'
import type { Vault } from '../vault.ts'
import { addMail, dropMail, type SealedMail, sealMail } from './code-mails.ts'
import { endInvitation, findRow, join } from './memberships.ts'

interface InvitationRow {
  readonly id: InvitationId
  readonly account_id: AccountId
  readonly email: string
  readonly role: Role
  readonly sent_by: string | null
  readonly sent_at: Instant
  readonly expires_at: Instant
}

const toInvitation = (row: InvitationRow): Invitation => ({
  id: row.id,
  accountId: row.account_id,
  email: row.email,
  role: row.role,
  by: row.sent_by,
  sentAt: row.sent_at,
  expiresAt: row.expires_at,
})

/** It lasts no longer than its account is open, and than whoever sent it is an owner there. */
const PENDING = `ended_at IS NULL AND expires_at > $at
  AND EXISTS (SELECT 1 FROM accounts WHERE id = invitations.account_id AND closed_at IS NULL)
  AND (sent_by IS NULL OR EXISTS (
    SELECT 1 FROM memberships JOIN people AS sender ON sender.id = person_id
    WHERE memberships.account_id = invitations.account_id AND memberships.role = 'owner'
      AND sender.email = sent_by AND sender.disabled_at IS NULL))`

/** What another has to wait for, of all that the account has sent in a day or of those to the address. */
function* refusalOf({
  accountId,
  email,
  sentAt,
}: Invitation): Statements<InvitationRefusal | null> {
  for (const [of, key] of [
    ['address', emailKey(email)],
    ['account', null],
  ] as const) {
    const last = yield* get<Pick<InvitationRow, 'sent_at'>>(
      `SELECT sent_at FROM invitations
       WHERE account_id = $accountId AND sent_at > $since AND (CAST($key AS text) IS NULL OR email_key = $key)
       ORDER BY sent_at DESC LIMIT 1 OFFSET $before`,
      { accountId, since: later(sentAt, -DAY_MS), key, before: MAX_INVITATIONS[of] - 1 },
    )
    if (last !== null) return { of, nextAt: later(last.sent_at, DAY_MS) }
  }
  return null
}

const sealInvitationMail = (
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

export const createInvitations = (engine: Engine): Invitations => ({
  send: (invitation, mail, act) =>
    engine.change(function* () {
      const { accountId, email, sentAt: at } = invitation
      const refused = yield* refusalOf(invitation)
      if (refused !== null) return refused
      const key = emailKey(email)
      // One to the same address.
      yield* run(
        `UPDATE invitations SET ended_at = $at
         WHERE account_id = $accountId AND email_key = $key AND ended_at IS NULL`,
        { accountId, key, at },
      )
      yield* run(
        `INSERT INTO invitations (id, account_id, email, email_key, role, sent_by, sent_at, expires_at)
         VALUES ($id, $accountId, $email, $key, $role, $by, $sentAt, $expiresAt)`,
        { ...invitation, key },
      )
      if (mail !== null) yield* addMail(sealInvitationMail(requireVault(engine), invitation, mail))
      yield* noteAct(act)
      return null
    }),
  accept: (id, personId, act) =>
    engine.change(function* () {
      const { at } = act
      const row = yield* get<InvitationRow>(
        `SELECT invitations.* FROM invitations JOIN people USING (email_key)
         WHERE invitations.id = $id AND people.id = $personId AND email_verified = 1 AND people.disabled_at IS NULL AND ${PENDING}`,
        { id, personId, at },
      )
      if (row === null) return false
      const { account_id: accountId, role } = row
      const isMember = (yield* findRow({ accountId, personId })) !== null
      if (isMember) yield* endInvitation({ accountId, personId }, at)
      else yield* join({ accountId, personId, role, since: at }, at)
      yield* noteAct(act, isMember ? undefined : { role: { from: null, to: role } })
      return true
    }),
  end: (id, act) =>
    engine.change(function* () {
      const row = yield* get<InvitationRow>(
        `UPDATE invitations SET ended_at = $at WHERE id = $id AND ended_at IS NULL AND expires_at > $at
         RETURNING *`,
        { id, at: act.at },
      )
      if (row === null) return false
      yield* dropMail(invitationMailName(row.account_id, row.email))
      yield* noteAct(act)
      return true
    }),
  async ofAccount(accountId, at) {
    const rows = await engine.read(() =>
      all<InvitationRow>(
        `SELECT * FROM invitations WHERE account_id = $accountId AND ${PENDING} ORDER BY sent_at, id`,
        { accountId, at },
      ),
    )
    return rows.map(toInvitation)
  },
  async toAddress(email, at) {
    const rows = await engine.read(() =>
      all<InvitationRow>(
        `SELECT * FROM invitations WHERE email_key = $key AND ${PENDING} ORDER BY sent_at, id`,
        { key: emailKey(email), at },
      ),
    )
    return rows.map(toInvitation)
  },
  // One of the last day counts to what may be sent in it.
  sweep: (at, limit) =>
    engine.run(
      `DELETE FROM invitations WHERE id IN (
         SELECT id FROM invitations WHERE sent_at <= $since AND (ended_at IS NOT NULL OR expires_at <= $at) LIMIT $limit)`,
      { at, since: later(at, -DAY_MS), limit },
    ),
})
