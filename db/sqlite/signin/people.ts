/** People in SQLite. Disabling or removing a person signs them out in the same transaction. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { emailKey } from '#signin/register/email.ts'
import type { People, Person, PersonId } from '#signin/register/person.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareAddPerson } from './add-person.ts'
import { prepareRevocations } from './revocations.ts'

export function createPeople({ database, commit }: Connection): People {
  const table = prepare(database)
  const revocations = prepareRevocations(database)
  const noteAct = prepareNoteAct(database)
  const addPerson = prepareAddPerson(database)
  const find = (id: PersonId): Person | undefined => toPerson(table.byId().get(id))
  const findByEmail = (email: string): Person | undefined =>
    toPerson(table.byEmail().get(emailKey(email)))

  return {
    add: (person, act) =>
      commit.commitDurably(() => {
        addPerson(person)
        noteAct(act)
      }),
    ...readPeople(table, { find, findByEmail }),
    confirmEmail: (email, newcomer, at, begunAt) =>
      commit.commitDurably(() => {
        const known = findByEmail(email)
        if (known === undefined) {
          if (newcomer === null) return undefined
          addPerson(newcomer)
        } else if (known.disabledAt === null && revocations.isRevoked(known.id, begunAt)) {
          return 'revoked'
        } else if (!known.isEmailVerified) {
          // Sessions, identities and passkeys from before the verification may belong to somebody else (hardening §3.2).
          revocations.endArtifacts(known.id, at)
          table.unlink().run(known.id)
          table.unkey().run(known.id)
        }
        table.prove().run({ key: emailKey(email), at })
        return findByEmail(email)
      }),
    setDisabled: (id, isDisabled, act) =>
      commit.commitDurably(() => {
        const person = find(id)
        if (person === undefined || (person.disabledAt !== null) === isDisabled) return person
        if (isDisabled) revocations.revoke(id, act.at)
        table.disable().run({ id, at: isDisabled ? act.at : null })
        noteAct(act)
        return find(id)
      }),
    amend: (id, { name, email }, act) =>
      commit.commitDurably(() => {
        const person = find(id)
        if (person === undefined) return undefined
        const other = email === undefined ? undefined : findByEmail(email)
        if (other !== undefined && other.id !== id) {
          throw new GatewayError('already_exists', `there is already a person ${email}`)
        }
        const isSame = email === undefined || emailKey(email) === emailKey(person.email)
        const amended = { ...person, name: name ?? person.name, email: email ?? person.email }
        table.amend().run({
          id,
          name: amended.name,
          email: amended.email,
          emailKey: emailKey(amended.email),
          isEmailVerified: Number(isSame && person.isEmailVerified),
          at: act.at,
        })
        noteAct(act)
        return find(id)
      }),
    setLanguage: (id, language, act) =>
      commit.commitDurably(() => {
        const person = find(id)
        if (person === undefined || person.language === language) return person
        table.speak().run({ id, language })
        noteAct(act, { language: { from: person.language, to: language } })
        return { ...person, language }
      }),
    remove: (id, act) =>
      commit.commitDurably(() => {
        revocations.revoke(id, act.at)
        if (table.remove().run(id).changes === 0) return false
        noteAct(act)
        return true
      }),
  }
}

type Table = ReturnType<typeof prepare>

interface Finders {
  find(id: PersonId): Person | undefined
  findByEmail(email: string): Person | undefined
}

const readPeople = (
  table: Table,
  { find, findByEmail }: Finders,
): Pick<People, 'find' | 'findByEmail' | 'count' | 'list'> => ({
  async find(id) {
    return find(id)
  },
  async findByEmail(email) {
    return findByEmail(email)
  },
  async count() {
    return table.count().get()?.n ?? 0
  },
  async list({ matching, accountId, isDisabled, before, limit }) {
    const query = {
      matching: matching === undefined ? null : emailKey(matching),
      accountId: accountId ?? null,
      isDisabled: isDisabled === undefined ? null : Number(isDisabled),
      beforeAt: before?.createdAt ?? null,
      beforeId: before?.id ?? null,
      limit,
    }
    return table
      .list()
      .all(query)
      .flatMap((row) => toPerson(row) ?? [])
  },
})

function prepare(database: Connection['database']) {
  return {
    count: statement<{ n: number }>(database, 'SELECT count(*) AS n FROM people'),
    byId: statement<PersonRow, [PersonId]>(database, 'SELECT * FROM people WHERE id = ?'),
    byEmail: statement<PersonRow, [string]>(database, 'SELECT * FROM people WHERE email_key = ?'),
    list: statement<PersonRow, [Named]>(
      database,
      `SELECT * FROM people
       WHERE ($matching IS NULL OR instr(email_key, $matching) > 0)
         AND ($accountId IS NULL OR id IN (SELECT person_id FROM memberships WHERE account_id = $accountId))
         AND ($isDisabled IS NULL OR (disabled_at IS NOT NULL) = $isDisabled)
         AND ($beforeAt IS NULL OR (created_at, id) < ($beforeAt, $beforeId))
       ORDER BY created_at DESC, id DESC LIMIT $limit`,
    ),
    // The claims change only with the first verification.
    prove: statement<unknown, [{ key: string; at: Instant }]>(
      database,
      `UPDATE people SET updated_at = iif(email_verified = 1, updated_at, $at), email_verified = 1,
         last_sign_in_at = iif(disabled_at IS NULL, $at, last_sign_in_at)
       WHERE email_key = $key`,
    ),
    amend: statement<unknown, [Named]>(
      database,
      `UPDATE people SET name = $name, email = $email, email_key = $emailKey, email_verified = $isEmailVerified,
         updated_at = $at
       WHERE id = $id`,
    ),
    disable: statement<unknown, [{ id: PersonId; at: Instant | null }]>(
      database,
      'UPDATE people SET disabled_at = $at WHERE id = $id',
    ),
    speak: statement<unknown, [{ id: PersonId; language: string }]>(
      database,
      'UPDATE people SET language = $language WHERE id = $id',
    ),
    remove: statement<unknown, [PersonId]>(database, 'DELETE FROM people WHERE id = ?'),
    unlink: statement<unknown, [PersonId]>(database, 'DELETE FROM identities WHERE person_id = ?'),
    unkey: statement<unknown, [PersonId]>(database, 'DELETE FROM passkeys WHERE person_id = ?'),
  }
}
