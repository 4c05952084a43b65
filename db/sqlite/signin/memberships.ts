/** Memberships in SQLite. They go with their person. */
import { GatewayError } from '#domain/errors.ts'
import type { AccountId } from '#domain/id.ts'
import type { Memberships } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'
import { type MembershipRow, toMembership } from '../../rows/membership-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareAddPerson } from './add-person.ts'

export function createMemberships({ database, commit }: Connection): Memberships {
  const table = prepare(database)
  const addPerson = prepareAddPerson(database)
  const noteAct = prepareNoteAct(database)

  return {
    put: (membership, newcomer, act) =>
      commit.commitDurably(() => {
        const { accountId, personId, role } = membership
        if (newcomer !== null) addPerson(newcomer)
        else if (table.person().get(personId) === null) {
          throw new GatewayError('person_not_found', `there is no person ${personId}`)
        }
        const before = table.find().get(accountId, personId)?.role ?? null
        if (before === role) return before
        table.put().run({ ...membership })
        noteAct(act, { role: { from: before, to: role } })
        return before
      }),
    remove: (accountId, personId, act) =>
      commit.commitDurably(() => {
        if (table.remove().run(accountId, personId).changes === 0) return false
        noteAct(act)
        return true
      }),
    async find(accountId, personId) {
      commit.flush()
      const row = table.find().get(accountId, personId)
      return row === null ? undefined : toMembership(row)
    },
    async ofAccount(accountId) {
      commit.flush()
      return table.ofAccount().all(accountId).map(toMembership)
    },
    async ofPerson(personId) {
      commit.flush()
      return table.ofPerson().all(personId).map(toMembership)
    },
  }
}

function prepare(database: Connection['database']) {
  return {
    person: statement<unknown, [PersonId]>(database, 'SELECT 1 FROM people WHERE id = ?'),
    find: statement<MembershipRow, [AccountId, PersonId]>(
      database,
      'SELECT * FROM memberships WHERE account_id = ? AND person_id = ?',
    ),
    put: statement<unknown, [Named]>(
      database,
      `INSERT INTO memberships VALUES ($accountId, $personId, $role, $since)
       ON CONFLICT DO UPDATE SET role = $role`,
    ),
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
