/** Groups of people in SQLite. Memberships go with their person. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import type { Group, Groups } from '#signin/register/group.ts'
import type { PersonId } from '#signin/register/person.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareAddPerson } from './add-person.ts'

export function createGroups({ database, commit }: Connection): Groups {
  const table = prepare(database)
  const addPerson = prepareAddPerson(database)
  const noteAct = prepareNoteAct(database)

  return {
    add: (name, personId, newcomer, act) =>
      commit.commitDurably(() => {
        if (newcomer !== null) addPerson(newcomer)
        else if (table.person().get(personId) === null) {
          throw new GatewayError('person_not_found', `there is no person ${personId}`)
        }
        if (table.add().run(name, personId).changes === 0) return false
        noteAct(act)
        return true
      }),
    remove: (name, personId, act) =>
      commit.commitDurably(() => {
        if (table.remove().run(name, personId).changes === 0) return false
        noteAct(act)
        return true
      }),
    async ofPerson(personId) {
      commit.flush()
      return table
        .ofPerson()
        .all(personId)
        .map(({ name }) => name)
    },
    async members(name) {
      commit.flush()
      return table
        .members()
        .all(name)
        .flatMap((row) => toPerson(row) ?? [])
    },
    async list() {
      commit.flush()
      return table.list().all()
    },
  }
}

const prepare = (database: Database) => ({
  person: statement<unknown, [PersonId]>(database, 'SELECT 1 FROM people WHERE id = ?'),
  add: statement<unknown, [string, PersonId]>(
    database,
    'INSERT INTO person_groups (name, person_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  ),
  remove: statement<unknown, [string, PersonId]>(
    database,
    'DELETE FROM person_groups WHERE name = ? AND person_id = ?',
  ),
  ofPerson: statement<{ name: string }, [PersonId]>(
    database,
    'SELECT name FROM person_groups WHERE person_id = ? ORDER BY name',
  ),
  members: statement<PersonRow, [string]>(
    database,
    `SELECT people.* FROM person_groups JOIN people ON people.id = person_id
     WHERE person_groups.name = ? ORDER BY email_key`,
  ),
  list: statement<Group>(
    database,
    'SELECT name, count(*) AS people FROM person_groups GROUP BY name ORDER BY name',
  ),
})
