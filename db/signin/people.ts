/** People. Disabling or removing a person signs them out in the same transaction. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { emailKey } from '#signin/register/email.ts'
import type { People, Person, PersonId } from '#signin/register/person.ts'
import { noteAct } from '../log/acts.ts'
import { all, count, type Engine, get, type Named, run, type Statements } from '../statements.ts'
import { endArtifacts, isRevoked, revoke } from './revocations.ts'

export interface PersonRow {
  readonly id: PersonId
  readonly email: string
  readonly email_verified: number
  readonly name: string | null
  readonly created_at: Instant
  readonly updated_at: Instant
  readonly last_sign_in_at: Instant | null
  readonly disabled_at: Instant | null
  readonly language: Person['language']
}

export const toPerson = (row: PersonRow): Person => ({
  id: row.id,
  email: row.email,
  isEmailVerified: row.email_verified === 1,
  name: row.name,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastSignInAt: row.last_sign_in_at,
  disabledAt: row.disabled_at,
  language: row.language,
})

/** In the transaction that is open. @throws already_exists if the address is taken */
function* addPerson(person: Person): Statements<void> {
  const added = yield* run(
    `INSERT INTO people (id, email, email_key, email_verified, name, created_at, updated_at, last_sign_in_at, disabled_at, language)
     VALUES ($id, $email, $emailKey, $isEmailVerified, $name, $createdAt, $updatedAt, $lastSignInAt, $disabledAt, $language)
     ON CONFLICT (email_key) DO NOTHING`,
    {
      ...person,
      emailKey: emailKey(person.email),
      isEmailVerified: Number(person.isEmailVerified),
    },
  )
  if (added === 1) return
  throw new GatewayError('already_exists', `there is already a person ${person.email}`)
}

/** Somebody who is there, or is added. @throws person_not_found */
export function* requirePerson(id: PersonId, newcomer: Person | null): Statements<void> {
  if (newcomer !== null) yield* addPerson(newcomer)
  else if ((yield* findPerson(id)) === undefined) {
    throw new GatewayError('person_not_found', `there is no person ${id}`)
  }
}

/** `from`: the rest of a statement that selects one person at most. */
export function* personOf(from: string, bindings: Named): Statements<Person | undefined> {
  const row = yield* get<PersonRow>(`SELECT people.* FROM ${from}`, bindings)
  return row === null ? undefined : toPerson(row)
}

export const findPerson = (id: PersonId): Statements<Person | undefined> =>
  personOf('people WHERE id = $id', { id })

export const findByEmail = (email: string): Statements<Person | undefined> =>
  personOf('people WHERE email_key = $key', { key: emailKey(email) })

/** Who has signed in, as they are now. */
export function* noteSignIn(id: PersonId, at: Instant): Statements<Person | undefined> {
  yield* run('UPDATE people SET last_sign_in_at = $at WHERE id = $id', { id, at })
  return yield* findPerson(id)
}

export const createPeople = (engine: Engine): People => ({
  ...readPeople(engine),
  add: (person, act) =>
    engine.change(function* () {
      yield* addPerson(person)
      yield* noteAct(act)
    }),
  confirmEmail: (email, newcomer, at, begunAt) =>
    engine.change(() => confirm(email, newcomer, at, begunAt)),
  setDisabled: (id, isDisabled, act) =>
    engine.change(function* () {
      const person = yield* findPerson(id)
      if (person === undefined || (person.disabledAt !== null) === isDisabled) return person
      if (isDisabled) yield* revoke(id, act.at)
      const at = isDisabled ? act.at : null
      yield* run('UPDATE people SET disabled_at = $at WHERE id = $id', { id, at })
      yield* noteAct(act)
      return yield* findPerson(id)
    }),
  amend: (id, { name, email }, act) =>
    engine.change(function* () {
      const person = yield* findPerson(id)
      if (person === undefined) return undefined
      const other = email === undefined ? undefined : yield* findByEmail(email)
      if (other !== undefined && other.id !== id) {
        throw new GatewayError('already_exists', `there is already a person ${email}`)
      }
      const isSame = email === undefined || emailKey(email) === emailKey(person.email)
      const amended = { ...person, name: name ?? person.name, email: email ?? person.email }
      yield* run(
        `UPDATE people SET name = $name, email = $email, email_key = $emailKey, email_verified = $isEmailVerified, updated_at = $at
         WHERE id = $id`,
        {
          id,
          name: amended.name,
          email: amended.email,
          emailKey: emailKey(amended.email),
          isEmailVerified: Number(isSame && person.isEmailVerified),
          at: act.at,
        },
      )
      yield* noteAct(act)
      return yield* findPerson(id)
    }),
  setLanguage: (id, language, act) =>
    engine.change(function* () {
      const person = yield* findPerson(id)
      if (person === undefined || person.language === language) return person
      yield* run('UPDATE people SET language = $language WHERE id = $id', { id, language })
      yield* noteAct(act, { language: { from: person.language, to: language } })
      return { ...person, language }
    }),
  remove: (id, act) =>
    engine.change(function* () {
      yield* revoke(id, act.at)
      if ((yield* run('DELETE FROM people WHERE id = $id', { id })) === 0) return false
      yield* noteAct(act)
      return true
    }),
})

function* confirm(
  email: string,
  newcomer: Person | null,
  at: Instant,
  begunAt: number,
): Statements<Person | 'revoked' | undefined> {
  const known = yield* findByEmail(email)
  if (known === undefined) {
    if (newcomer === null) return undefined
    yield* addPerson(newcomer)
  } else if (known.disabledAt === null && (yield* isRevoked(known.id, begunAt))) {
    return 'revoked'
  } else if (!known.isEmailVerified) {
    // Sessions, identities and passkeys from before the verification may belong to somebody else (hardening §3.2).
    yield* endArtifacts(known.id, at)
    yield* run('DELETE FROM identities WHERE person_id = $id', { id: known.id })
    yield* run('DELETE FROM passkeys WHERE person_id = $id', { id: known.id })
  }
  // The claims change only with the first verification.
  yield* run(
    `UPDATE people SET updated_at = CASE WHEN email_verified = 1 THEN updated_at ELSE $at END, email_verified = 1,
       last_sign_in_at = CASE WHEN disabled_at IS NULL THEN $at ELSE last_sign_in_at END
     WHERE email_key = $key`,
    { key: emailKey(email), at },
  )
  return yield* findByEmail(email)
}

const readPeople = (engine: Engine): Pick<People, 'find' | 'findByEmail' | 'count' | 'list'> => ({
  find: (id) => engine.read(() => findPerson(id)),
  findByEmail: (email) => engine.read(() => findByEmail(email)),
  count: () => engine.read(() => count('people')),
  async list({ matching, accountId, isDisabled, before, limit }) {
    const ofState =
      isDisabled === undefined ? '' : `AND disabled_at IS ${isDisabled ? 'NOT NULL' : 'NULL'}`
    const rows = await engine.read(() =>
      all<PersonRow>(
        `SELECT * FROM people
         WHERE (CAST($matching AS text) IS NULL OR replace(email_key, $matching, '') <> email_key)
           AND (CAST($accountId AS text) IS NULL OR id IN (SELECT person_id FROM memberships WHERE account_id = $accountId))
           AND (CAST($beforeAt AS bigint) IS NULL OR (created_at, id) < ($beforeAt, CAST($beforeId AS text)))
           ${ofState}
         ORDER BY created_at DESC, id DESC LIMIT $limit`,
        {
          matching: matching ? emailKey(matching) : null,
          accountId: accountId ?? null,
          beforeAt: before?.createdAt ?? null,
          beforeId: before?.id ?? null,
          limit,
        },
      ),
    )
    return rows.map(toPerson)
  },
})
