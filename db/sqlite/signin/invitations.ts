/** Invitations in SQLite. */
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
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareAddMail, prepareDropMail } from './code-mails.ts'
import { prepareEndInvitation, prepareFind, prepareJoin } from './memberships.ts'

export function createInvitations(connection: Connection): Invitations {
  const { database, commit } = connection
  const table = prepare(database)
  const join = prepareJoin(database)
  const endOf = prepareEndInvitation(database)
  const findMembership = prepareFind(database)
  const addMail = prepareAddMail(database)
  const dropMail = prepareDropMail(database)
  const noteAct = prepareNoteAct(database)

  const refusalOf = ({ accountId, email, sentAt }: Invitation): InvitationRefusal | null => {
    const since = later(sentAt, -DAY_MS)
    for (const [of, most] of Object.entries(MAX_INVITATIONS)) {
      const key = of === 'address' ? emailKey(email) : null
      const row = table.nthNewest().get({ accountId, key, since, before: most - 1 })
      if (row !== null) return refusal(of, row)
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
          const sealed = sealMail(requireVault(connection), mail.id, mail.mail)
          const interaction = invitationMailName(accountId, email)
          const expiresAt = later(at, INVITATION_MAIL_MS)
          addMail({ interaction, id: mail.id, sealed, at, expiresAt })
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
        endOf(accountId, personId, at)
        const before = findMembership().get(accountId, personId)?.role ?? null
        if (before === null) join({ accountId, personId, role, since: at }, at)
        noteAct(act, before === null ? { role: { from: null, to: role } } : undefined)
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
      commit.flush()
      return table.ofAccount().all({ accountId, at }).map(toInvitation)
    },
    async toAddress(email, at) {
      commit.flush()
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
    endEarlier: by(
      `UPDATE invitations SET ended_at = $at
       WHERE account_id = $accountId AND email_key = $key AND ended_at IS NULL`,
    ),
    add: by(
      `INSERT INTO invitations (id, account_id, email, email_key, role, sent_by, sent_at, expires_at)
       VALUES ($id, $accountId, $email, $key, $role, $by, $sentAt, $expiresAt)`,
    ),
    ofPerson: by<InvitationRow>(OF_PERSON),
    end: by<InvitationRow>(
      `UPDATE invitations SET ended_at = $at WHERE id = $id AND ended_at IS NULL AND expires_at > $at
       RETURNING *`,
    ),
    ofAccount: by<InvitationRow>(OF_ACCOUNT),
    toAddress: by<InvitationRow>(TO_ADDRESS),
    sweep: by(SWEEP),
  }
}

/** The one of the last day that another has to wait for. */
const NTH_NEWEST = `SELECT sent_at FROM invitations
  WHERE account_id = $accountId AND sent_at > $since AND ($key IS NULL OR email_key = $key)
  ORDER BY sent_at DESC LIMIT 1 OFFSET $before`
