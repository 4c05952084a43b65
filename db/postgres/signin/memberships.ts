/** Memberships in PostgreSQL. They go with their person. */
import type { AccountId } from '#domain/id.ts'
import type { Memberships } from '#signin/register/membership.ts'
import type { PersonId } from '#signin/register/person.ts'
import { type MembershipRow, toMembership } from '../../rows/membership-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { requirePerson } from './people.ts'

const findRow = (sql: Sql, accountId: AccountId, personId: PersonId) =>
  sql.get<MembershipRow>(
    'SELECT * FROM memberships WHERE account_id = ? AND person_id = ?',
    accountId,
    personId,
  )

export const createMemberships = (database: Database): Memberships => ({
  put: (membership, newcomer, act) =>
    database.change(async (tx) => {
      const { accountId, personId, role } = membership
      await requirePerson(tx, personId, newcomer)
      const before = (await findRow(tx, accountId, personId))?.role ?? null
      if (before === role) return before
      await tx.run(
        `INSERT INTO memberships VALUES ($accountId, $personId, $role, $since)
         ON CONFLICT (account_id, person_id) DO UPDATE SET role = $role`,
        { ...membership },
      )
      await noteAct(tx, act, { role: { from: before, to: role } })
      return before
    }),
  remove: (accountId, personId, act) =>
    database.change(async (tx) => {
      const gone = await tx.run(
        'DELETE FROM memberships WHERE account_id = ? AND person_id = ?',
        accountId,
        personId,
      )
      if (gone === 0) return false
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
