/** Groups of people in PostgreSQL. Memberships go with their person. */
import type { Group, Groups } from '#signin/register/group.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Database } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { requirePerson } from './people.ts'

export const createGroups = (database: Database): Groups => ({
  add: (name, personId, newcomer, act) =>
    database.change(async (tx) => {
      await requirePerson(tx, personId, newcomer)
      const added = await tx.run(
        'INSERT INTO person_groups (name, person_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
        name,
        personId,
      )
      if (added === 0) return false
      await noteAct(tx, act)
      return true
    }),
  remove: (name, personId, act) =>
    database.change(async (tx) => {
      const gone = await tx.run(
        'DELETE FROM person_groups WHERE name = ? AND person_id = ?',
        name,
        personId,
      )
      if (gone === 0) return false
      await noteAct(tx, act)
      return true
    }),
  async ofPerson(personId) {
    const rows = await database.all<{ name: string }>(
      'SELECT name FROM person_groups WHERE person_id = ? ORDER BY name',
      personId,
    )
    return rows.map(({ name }) => name)
  },
  async members(name) {
    const rows = await database.all<PersonRow>(
      `SELECT people.* FROM person_groups JOIN people ON people.id = person_id
       WHERE person_groups.name = ? ORDER BY email_key`,
      name,
    )
    return rows.flatMap((row) => toPerson(row) ?? [])
  },
  list: () =>
    database.all<Group>(
      'SELECT name, count(*) AS people FROM person_groups GROUP BY name ORDER BY name',
    ),
})
