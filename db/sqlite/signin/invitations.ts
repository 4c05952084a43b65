/** Invitations in SQLite. */
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
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareAddMail, prepareDropMail } from './code-mails.ts'
import { prepareEndInvitation, prepareFind, prepareJoin } from './memberships.ts'

export function createInvitations(connection: Connection): Invitations {
  const { database, commit } = connection
  const table = prepare(database)
  const join = prepareJoin(database)
  const endInvitation = prepareEndInvitation(database)
  const findMembership = prepareFind(database)
  const addMail = prepareAddMail(database)
  const dropMail = prepareDropMail(database)
  const noteAct = prepareNoteAct(database)

  const refusalOf = (invitation: Invitation): InvitationRefusal | null => {
    for (const { by, asked } of boundsOf(invitation)) {
      const row = table.nthNewest().get(asked)
      if (row !== null) return refusal(by, row)
    }
    return null
  }

  return {
    send: (invitation, mail, act) =>
      commit.commitDurably(() => {
        const { id, accountId, email, sentAt: at } = invitation
        const refused = refusalOf(invitation)
        if (refused !== null) return refused
        const key = emailKey(email)
        table.endEarlier().run({ accountId, key, at })
        table.add().run({ ...invitation, id, key })
        if (mail !== null) {
          addMail(sealInvitationMail(requireVault(connection), invitation, mail))
        }
        noteAct(act)
        return null
      }),
    accept: (id, personId, act) =>
      commit.commitDurably(() => {
        const { at } = act
        const row = table.ofPerson().get({ id, personId, at })
        if (row === null) return false
        const { account_id: accountId, role } = row
        const isMember = findMembership().get(accountId, personId) !== null
        if (isMember) endInvitation(accountId, personId, at)
        else join({ accountId, personId, role, since: at }, at)
        noteAct(act, isMember ? undefined : { role: { from: null, to: role } })
        return true
      }),
    end: (id, act) =>
      commit.commitDurably(() => {
        const row = table.end().get({ id, at: act.at })
        if (row === null) return false
        dropMail(invitationMailName(row.account_id, row.email))
        noteAct(act)
        return true
      }),
    async ofAccount(accountId, at) {
      return table.ofAccount().all({ accountId, at }).map(toInvitation)
    },
    async toAddress(email, at) {
      return table
        .toAddress()
        .all({ key: emailKey(email), at })
        .map(toInvitation)
    },
    sweep: (at, limit) =>
      commit.enqueue(() => table.sweep().run({ at, since: later(at, -DAY_MS), limit }).changes),
  }
}

function prepare(database: Connection['database']) {
  const by = <Row>(sql: string) => statement<Row, [Named]>(database, sql)
  return {
    nthNewest: by<Pick<InvitationRow, 'sent_at'>>(NTH_NEWEST),
    endEarlier: by(END_EARLIER),
    add: by(ADD),
    ofPerson: by<InvitationRow>(OF_PERSON),
    end: by<InvitationRow>(END),
    ofAccount: by<InvitationRow>(OF_ACCOUNT),
    toAddress: by<InvitationRow>(TO_ADDRESS),
    sweep: by(SWEEP),
  }
}
