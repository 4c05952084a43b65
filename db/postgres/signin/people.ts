/** People in PostgreSQL. Disabling or removing a person signs them out in the same transaction. */
import { GatewayError } from '#domain/errors.ts'
import { emailKey } from '#signin/register/email.ts'
import type { People, Person, PersonId } from '#signin/register/person.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { endArtifacts, isRevoked, revoke } from './revocations.ts'

/** In the transaction that is open. @throws already_exists if the address is taken */
async function addPerson(tx: Sql, person: Person): Promise<void> {
  const added = await tx.run(
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
export async function requirePerson(tx: Sql, id: PersonId, newcomer: Person | null): Promise<void> {
  if (newcomer !== null) await addPerson(tx, newcomer)
  else if ((await findPerson(tx, id)) === undefined) {
    throw new GatewayError('person_not_found', `there is no person ${id}`)
  }
}

export const findPerson = async (sql: Sql, id: PersonId): Promise<Person | undefined> =>
  toPerson(await sql.get<PersonRow>('SELECT * FROM people WHERE id = ?', id))

export const findByEmail = async (sql: Sql, email: string): Promise<Person | undefined> =>
  toPerson(await sql.get<PersonRow>('SELECT * FROM people WHERE email_key = ?', emailKey(email)))

export function createPeople(database: Database): People {
  return {
    ...readPeople(database),
    add: (person, act) =>
      database.change(async (tx) => {
        await addPerson(tx, person)
        await noteAct(tx, act)
      }),
    confirmEmail: (email, newcomer, at, begunAt) =>
      database.change(async (tx) => {
        const known = await findByEmail(tx, email)
        if (known === undefined) {
          if (newcomer === null) return undefined
          await addPerson(tx, newcomer)
        } else if (known.disabledAt === null && (await isRevoked(tx, known.id, begunAt))) {
          return 'revoked'
        } else if (!known.isEmailVerified) {
          // Sessions, identities and passkeys from before the verification may belong to somebody else (hardening §3.2).
          await endArtifacts(tx, known.id, at)
          await tx.run('DELETE FROM identities WHERE person_id = ?', known.id)
          await tx.run('DELETE FROM passkeys WHERE person_id = ?', known.id)
        }
        // The claims change only with the first verification.
        await tx.run(
          `UPDATE people SET updated_at = CASE WHEN email_verified = 1 THEN updated_at ELSE $at END, email_verified = 1,
             last_sign_in_at = CASE WHEN disabled_at IS NULL THEN $at ELSE last_sign_in_at END
           WHERE email_key = $key`,
          { key: emailKey(email), at },
        )
        return await findByEmail(tx, email)
      }),
    setDisabled: (id, isDisabled, act) =>
      database.change(async (tx) => {
        const person = await findPerson(tx, id)
        if (person === undefined || (person.disabledAt !== null) === isDisabled) return person
        if (isDisabled) await revoke(tx, id, act.at)
        const at = isDisabled ? act.at : null
        await tx.run('UPDATE people SET disabled_at = ? WHERE id = ?', at, id)
        await noteAct(tx, act)
        return await findPerson(tx, id)
      }),
    amend: (id, { name, email }, act) =>
      database.change(async (tx) => {
        const person = await findPerson(tx, id)
        if (person === undefined) return undefined
        const other = email === undefined ? undefined : await findByEmail(tx, email)
        if (other !== undefined && other.id !== id) {
          throw new GatewayError('already_exists', `there is already a person ${email}`)
        }
        const isSame = email === undefined || emailKey(email) === emailKey(person.email)
        const amended = { ...person, name: name ?? person.name, email: email ?? person.email }
        await tx.run(
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
        await noteAct(tx, act)
        return await findPerson(tx, id)
      }),
    setLanguage: (id, language, act) =>
      database.change(async (tx) => {
        const person = await findPerson(tx, id)
        if (person === undefined || person.language === language) return person
        await tx.run('UPDATE people SET language = ? WHERE id = ?', language, id)
        await noteAct(tx, act, { language: { from: person.language, to: language } })
        return { ...person, language }
      }),
    remove: (id, act) =>
      database.change(async (tx) => {
        await revoke(tx, id, act.at)
        if ((await tx.run('DELETE FROM people WHERE id = ?', id)) === 0) return false
        await noteAct(tx, act)
        return true
      }),
  }
}

const readPeople = (
  database: Database,
): Pick<People, 'find' | 'findByEmail' | 'count' | 'list'> => ({
  find: (id) => findPerson(database, id),
  findByEmail: (email) => findByEmail(database, email),
  async count() {
    return (await database.get<{ n: number }>('SELECT count(*) AS n FROM people'))?.n ?? 0
  },
  async list({ matching, accountId, isDisabled, before, limit }) {
    const rows = await database.all<PersonRow>(
      `SELECT * FROM people
       WHERE ($matching::text IS NULL OR strpos(email_key, $matching) > 0)
         AND ($accountId::text IS NULL OR id IN (SELECT person_id FROM memberships WHERE account_id = $accountId))
         AND ($isDisabled::boolean IS NULL OR (disabled_at IS NOT NULL) = $isDisabled)
         AND ($beforeAt::bigint IS NULL OR (created_at, id) < ($beforeAt, $beforeId::text))
       ORDER BY created_at DESC, id DESC LIMIT $limit`,
      {
        matching: matching === undefined ? null : emailKey(matching),
        accountId: accountId ?? null,
        isDisabled: isDisabled ?? null,
        beforeAt: before?.createdAt ?? null,
        beforeId: before?.id ?? null,
        limit,
      },
    )
    return rows.flatMap((row) => toPerson(row) ?? [])
  },
})
