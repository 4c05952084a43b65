/** Memberships in PostgreSQL. They go with their person. */
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { invitationMailName } from '#signin/register/invitation.ts'
import type { ExpectedMember, Membership, Memberships, Role } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'
import {
  END_INVITATION,
  type MembershipRow,
  PUT_MEMBERSHIP,
  requireExpected,
  toMembership,
} from '../../rows/membership-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { dropMail } from './code-mails.ts'
import { requirePerson } from './people.ts'

export const findRow = (sql: Sql, accountId: AccountId, personId: PersonId) =>
  sql.get<MembershipRow>(
    'SELECT * FROM memberships WHERE account_id = ? AND person_id = ?',
    accountId,
    personId,
  )

/** Its mail is not sent any more either. */
export async function endInvitation(
  tx: Sql,
  of: { accountId: AccountId; personId: PersonId; at: Instant },
): Promise<void> {
  const ended = await tx.get<{ email: string }>(END_INVITATION, of)
  if (ended !== null) await dropMail(tx, invitationMailName(of.accountId, ended.email))
}

/** Nobody who belongs to an account is invited to it any more. Returns the role before. */
export async function join(tx: Sql, membership: Membership, at: Instant): Promise<Role | null> {
  const { accountId, personId, role } = membership
  const before = (await findRow(tx, accountId, personId))?.role ?? null
  if (before !== role) await tx.run(PUT_MEMBERSHIP, { ...membership })
  if (before === null) await endInvitation(tx, { accountId, personId, at })
  return before
}

/** No other change is made meanwhile, by any node. */
async function requireStanding(
  tx: Sql,
  of: { accountId: AccountId; personId: PersonId },
  { by }: ExpectedMember,
): Promise<void> {
  const member = await findRow(tx, of.accountId, of.personId)
  requireExpected(member, by === null ? 'operator' : await findRow(tx, of.accountId, by))
}

export const createMemberships = (database: Database): Memberships => ({
  put: (membership, newcomer, act, expected) =>
    database.change(async (tx) => {
      const { personId, role } = membership
      if (expected !== undefined) await requireStanding(tx, membership, expected)
      await requirePerson(tx, personId, newcomer)
      const before = await join(tx, membership, act.at)
      if (before !== role) await noteAct(tx, act, { role: { from: before, to: role } })
      return before
    }),
  remove: (accountId, personId, act, expected) =>
    database.change(async (tx) => {
      if (expected !== undefined) await requireStanding(tx, { accountId, personId }, expected)
      const gone = await tx.run(
        'DELETE FROM memberships WHERE account_id = ? AND person_id = ?',
        accountId,
        personId,
      )
      if (gone === 0) return false
      await endInvitation(tx, { accountId, personId, at: act.at })
      await noteAct(tx, act)
      return true
    }),
  async find(accountId, personId) {
    const row = await findRow(database, accountId, personId)
    return row === null ? undefined : toMembership(row)
  },
  async ofAccount(accountId) {
    const rows = await database.all<MembershipRow>(
      'SELECT * FROM memberships WHERE account_id = ? ORDER BY since, person_id',
      accountId,
    )
    return rows.map(toMembership)
  },
  async ofPerson(personId) {
    const rows = await database.all<MembershipRow>(
      'SELECT * FROM memberships WHERE person_id = ? ORDER BY account_id',
      personId,
    )
    return rows.map(toMembership)
  },
})
