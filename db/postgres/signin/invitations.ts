/** Invitations in PostgreSQL. */
import { DAY_MS, later } from '#domain/clock.ts'
import { emailKey } from '#signin/register/email.ts'
import {
  type Invitation,
  type InvitationRefusal,
  type Invitations,
  invitationMailName,
} from '#signin/register/invitation.ts'
import { requireVault } from '../../require-vault.ts'
import {
  ADD,
  boundsOf,
  END,
  END_EARLIER,
  type InvitationRow,
  NTH_NEWEST,
  OF_ACCOUNT,
  OF_PERSON,
  refusal,
  SWEEP,
  sealInvitationMail,
  TO_ADDRESS,
  toInvitation,
} from '../../rows/invitation-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { addMail, dropMail } from './code-mails.ts'
import { endInvitation, findRow, join } from './memberships.ts'

async function refusalOf(tx: Sql, invitation: Invitation): Promise<InvitationRefusal | null> {
  for (const { by, asked } of boundsOf(invitation)) {
    const row = await tx.get<Pick<InvitationRow, 'sent_at'>>(NTH_NEWEST, asked)
    if (row !== null) return refusal(by, row)
  }
  return null
}

export const createInvitations = (database: Database): Invitations => ({
  send: (invitation, mail, act) =>
    database.change(async (tx) => {
      const { accountId, email, sentAt: at } = invitation
      const refused = await refusalOf(tx, invitation)
      if (refused !== null) return refused
      const key = emailKey(email)
      await tx.run(END_EARLIER, { accountId, key, at })
      await tx.run(ADD, { ...invitation, key })
      if (mail !== null) {
        await addMail(tx, sealInvitationMail(requireVault(database), invitation, mail))
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
      const isMember = (await findRow(tx, accountId, personId)) !== null
      if (isMember) await endInvitation(tx, { accountId, personId, at })
      else await join(tx, { accountId, personId, role, since: at }, at)
      await noteAct(tx, act, isMember ? undefined : { role: { from: null, to: role } })
      return true
    }),
  end: (id, act) =>
    database.change(async (tx) => {
      const row = await tx.get<InvitationRow>(END, { id, at: act.at })
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
