/** Adds a person, for the transactions that do. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import { emailKey } from '#signin/register/email.ts'
import type { Person } from '#signin/register/person.ts'
import { type Named, statement } from '../engine/statement.ts'

/** Runs in the transaction of its caller. @throws already_exists if the address is taken */
export function prepareAddPerson(database: Database): (person: Person) => void {
  const isKnown = statement<unknown, [string]>(database, 'SELECT 1 FROM people WHERE email_key = ?')
  const insert = statement<unknown, [Named]>(
    database,
    `INSERT INTO people (id, email, email_key, email_verified, name, created_at, updated_at, last_sign_in_at, disabled_at, language)
     VALUES ($id, $email, $emailKey, $isEmailVerified, $name, $createdAt, $updatedAt, $lastSignInAt, $disabledAt, $language)`,
  )
  return (person) => {
    const key = emailKey(person.email)
    if (isKnown().get(key) !== null) {
      throw new GatewayError('already_exists', `there is already a person ${person.email}`)
    }
    insert().run({ ...person, emailKey: key, isEmailVerified: Number(person.isEmailVerified) })
  }
}
