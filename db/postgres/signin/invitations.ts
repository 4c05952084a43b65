/** Invitations in PostgreSQL. */
import { DAY_MS, later } from '#domain/clock.ts'
import { emailKey } from '#signin/register/email.ts'
import {
  INVITATION_MAIL_MS,
  type Invitation,
  type InvitationRefusal,
  type Invitations,
  invitationMailName,
  MAX_INVITATIONS,
} from '#signin/register/invitation.ts'
import { requireVault } from '../../require-vault.ts'
import { sealMail } from '../../rows/code-mail-row.ts'
import {
  type InvitationRow,
  OF_ACCOUNT,
  OF_PERSON,
  refusal,
  SWEEP,
  TO_ADDRESS,
  toInvitation,
} from '../../rows/invitation-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { addMail, dropMail } from './code-mails.ts'
import { endInvitation, findRow, join } from './memberships.ts'

async function refusalOf(
  tx: Sql,
  { accountId, email, sentAt }: Invitation,
): Promise<InvitationRefusal | null> {
  const since = later(sentAt, -DAY_MS)
  for (const [of, most] of Object.entries(MAX_INVITATIONS)) {
    const key = of === 'address' ? emailKey(email) : null
    const row = await tx.get<Pick<InvitationRow, 'sent_at'>>(
      `SELECT sent_at FROM invitations
       WHERE account_id = $accountId AND sent_at > $since AND ($key::text IS NULL OR email_key = $key)
       ORDER BY sent_at DESC LIMIT 1 OFFSET $before`,
      { accountId, key, since, before: most - 1 },
    )
    if (row !== null) return refusal(of, row)
  }
  return null
}

const end = (tx: Sql, id: string, at: number): Promise<InvitationRow | null> =>
  tx.get<InvitationRow>(
    `UPDATE invitations SET ended_at = $at WHERE id = $id AND ended_at IS NULL AND expires_at > $at
     RETURNING *`,
    { id, at },
  )

export const createInvitations = (database: Database): Invitations => ({
  send: (invitation, mail, act) =>
    database.change(async (tx) => {
      const { accountId, email, sentAt: at } = invitation
      // Of two at once, the other counts this one.
      await tx.get('SELECT 1 FROM accounts WHERE id = ? FOR NO KEY UPDATE', accountId)
      const refused = await refusalOf(tx, invitation)
      if (refused !== null) return refused
      const key = emailKey(email)
      await tx.run(
        `UPDATE invitations SET ended_at = $at
         WHERE account_id = $accountId AND email_key = $key AND ended_at IS NULL`,
        { accountId, key, at },
      )
      await tx.run(
        `INSERT INTO invitations (id, account_id, email, email_key, role, sent_by, sent_at, expires_at)
         VALUES ($id, $accountId, $email, $key, $role, $by, $sentAt, $expiresAt)`,
        { ...invitation, key },
      )
      if (mail !== null) {
        const sealed = sealMail(requireVault(database), mail.id, mail.mail)
        const interaction = invitationMailName(accountId, email)
        const expiresAt = later(at, INVITATION_MAIL_MS)
        await addMail(tx, { interaction, id: mail.id, sealed, at, expiresAt })
      }
      await noteAct(tx, act)
      return null
    }),
  accept: (id, personId, act) =>
    database.change(async (tx) => {
      const { at } = act
      const row = await tx.get<InvitationRow>(OF_PERSON, { id, personId, at })
      if (row === null) return false
      const { account_id: accountId, role } = row
      // Another may have ended it since.
      if (!(await endInvitation(tx, { accountId, personId, at }))) return false
      const before = (await findRow(tx, accountId, personId))?.role ?? null
      if (before === null) await join(tx, { accountId, personId, role, since: at }, at)
      await noteAct(tx, act, before === null ? { role: { from: null, to: role } } : undefined)
      return true
    }),
  end: (id, act) =>
    database.change(async (tx) => {
      const row = await end(tx, id, act.at)
      if (row === null) return false
      await dropMail(tx, invitationMailName(row.account_id, row.email))
      await noteAct(tx, act)
      return true
    }),
  async ofAccount(accountId, at) {
    return (await database.all<InvitationRow>(OF_ACCOUNT, { accountId, at })).map(toInvitation)
  },
  async toAddress(email, at) {
    const key = emailKey(email)
    return (await database.all<InvitationRow>(TO_ADDRESS, { key, at })).map(toInvitation)
  },
  sweep: (at, limit) => database.run(SWEEP, { at, since: later(at, -DAY_MS), limit }),
})
