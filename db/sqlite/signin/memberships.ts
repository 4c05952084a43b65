/** Memberships in SQLite. They go with their person. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
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
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareAddPerson } from './add-person.ts'
import { prepareDropMail } from './code-mails.ts'

export function createMemberships({ database, commit }: Connection): Memberships {
  const table = prepare(database)
  const join = prepareJoin(database)
  const endInvitation = prepareEndInvitation(database)
  const addPerson = prepareAddPerson(database)
  const noteAct = prepareNoteAct(database)

  const requireStanding = (
    accountId: AccountId,
    personId: PersonId,
    { by }: ExpectedMember,
  ): void => {
    const find = table.find()
    requireExpected(
      find.get(accountId, personId),
      by === null ? 'operator' : find.get(accountId, by),
    )
  }

  return {
    put: (membership, newcomer, act, expected) =>
      commit.commitDurably(() => {
        const { accountId, personId, role } = membership
        if (expected !== undefined) requireStanding(accountId, personId, expected)
        if (newcomer !== null) addPerson(newcomer)
        else if (table.person().get(personId) === null) {
          throw new GatewayError('person_not_found', `there is no person ${personId}`)
        }
        const before = join(membership, act.at)
        if (before !== role) noteAct(act, { role: { from: before, to: role } })
        return before
      }),
    remove: (accountId, personId, act, expected) =>
      commit.commitDurably(() => {
        if (expected !== undefined) requireStanding(accountId, personId, expected)
        if (table.remove().run(accountId, personId).changes === 0) return false
        endInvitation(accountId, personId, act.at)
        noteAct(act)
        return true
      }),
    async find(accountId, personId) {
      const row = table.find().get(accountId, personId)
      return row === null ? undefined : toMembership(row)
    },
    async ofAccount(accountId) {
      return table.ofAccount().all(accountId).map(toMembership)
    },
    async ofPerson(personId) {
      return table.ofPerson().all(personId).map(toMembership)
    },
  }
}

/** Runs in the transaction of its caller, as its mail is not sent any more either. */
export function prepareEndInvitation(
  database: Connection['database'],
): (accountId: AccountId, personId: PersonId, at: Instant) => void {
  const end = statement<{ email: string }, [Named]>(database, END_INVITATION)
  const dropMail = prepareDropMail(database)
  return (accountId, personId, at) => {
    const ended = end().get({ accountId, personId, at })
    if (ended !== null) dropMail(invitationMailName(accountId, ended.email))
  }
}

/** Runs in the transaction of its caller; nobody who belongs to an account is invited to it any more. Returns the role before. */
export function prepareJoin(
  database: Connection['database'],
): (membership: Membership, at: Instant) => Role | null {
  const find = prepareFind(database)
  const put = statement<unknown, [Named]>(database, PUT_MEMBERSHIP)
  const endInvitation = prepareEndInvitation(database)
  return (membership, at) => {
    const { accountId, personId, role } = membership
    const before = find().get(accountId, personId)?.role ?? null
    if (before !== role) put().run({ ...membership })
    if (before === null) endInvitation(accountId, personId, at)
    return before
  }
}

/** The membership of a person in an account. */
export const prepareFind = (database: Connection['database']) =>
  statement<MembershipRow, [AccountId, PersonId]>(
    database,
    'SELECT * FROM memberships WHERE account_id = ? AND person_id = ?',
  )

function prepare(database: Connection['database']) {
  return {
    person: statement<unknown, [PersonId]>(database, 'SELECT 1 FROM people WHERE id = ?'),
    find: prepareFind(database),
    remove: statement<unknown, [AccountId, PersonId]>(
      database,
      'DELETE FROM memberships WHERE account_id = ? AND person_id = ?',
    ),
    ofAccount: statement<MembershipRow, [AccountId]>(
      database,
      'SELECT * FROM memberships WHERE account_id = ? ORDER BY since, person_id',
    ),
    ofPerson: statement<MembershipRow, [PersonId]>(
      database,
      'SELECT * FROM memberships WHERE person_id = ? ORDER BY account_id',
    ),
  }
}
