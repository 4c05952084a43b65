/** Groups of people. Memberships go with their person. */
import type { Group, Groups } from '#signin/register/group.ts'
import { noteAct } from '../log/acts.ts'
import { all, type Engine, run } from '../statements.ts'
import { type PersonRow, requirePerson, toPerson } from './people.ts'

export const createGroups = (engine: Engine): Groups => ({
  add: (name, personId, newcomer, act) =>
    engine.change(function* () {
      yield* requirePerson(personId, newcomer)
      const added = yield* run(
        'INSERT INTO person_groups (name, person_id) VALUES ($name, $personId) ON CONFLICT DO NOTHING',
        { name, personId },
      )
      if (added === 0) return false
      yield* noteAct(act)
      return true
    }),
  remove: (name, personId, act) =>
    engine.change(function* () {
      const gone = yield* run(
        'DELETE FROM person_groups WHERE name = $name AND person_id = $personId',
        { name, personId },
      )
      if (gone === 0) return false
      yield* noteAct(act)
      return true
    }),
  async ofPerson(personId) {
    const rows = await engine.read(() =>
      all<{ name: string }>(
        'SELECT name FROM person_groups WHERE person_id = $personId ORDER BY name',
        { personId },
      ),
    )
    return rows.map(({ name }) => name)
  },
  async members(name) {
    const rows = await engine.read(() =>
      all<PersonRow>(
        `SELECT people.* FROM person_groups JOIN people ON people.id = person_id
         WHERE person_groups.name = $name ORDER BY email_key`,
        { name },
      ),
    )
    return rows.map(toPerson)
  },
  list: () =>
    engine.read(() =>
      all<Group>('SELECT name, count(*) AS people FROM person_groups GROUP BY name ORDER BY name'),
    ),
})
