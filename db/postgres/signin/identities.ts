/** Identities in PostgreSQL: looked up, or linked, in one transaction. */
import type { Instant } from '#domain/clock.ts'
import type { ClaimedIdentity, Identities } from '#signin/register/identity.ts'
import type { Person, PersonId } from '#signin/register/person.ts'
import { type IdentityRow, toIdentity } from '../../rows/identity-row.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { findByEmail } from './people.ts'
import { isRevoked } from './revocations.ts'

/** Selected from both tables, so that a removed provider or person is never referred to. */
const link = async (
  tx: Sql,
  identity: ClaimedIdentity,
  personId: PersonId,
  at: Instant,
): Promise<boolean> =>
  (await tx.run(
    `INSERT INTO identities (issuer, subject, person_id, told_name, linked_at, last_used_at)
     SELECT issuer, $subject::text, people.id, $claimedName::text, $at::bigint, $at FROM people, identity_providers
     WHERE people.id = $personId AND issuer = $issuer`,
    { ...identity, personId, at },
  )) === 1

const ownerOf = async (
  tx: Sql,
  { issuer, subject }: ClaimedIdentity,
): Promise<Person | undefined> =>
  toPerson(
    await tx.get<PersonRow>(
      `SELECT people.* FROM identities JOIN people ON people.id = person_id
       WHERE issuer = ? AND subject = ?`,
      issuer,
      subject,
    ),
  )

async function arrive(
  tx: Sql,
  identity: ClaimedIdentity,
  vouched: string | null,
  at: Instant,
  begunAt: number,
): Promise<Person | 'revoked' | undefined> {
  const known = await ownerOf(tx, identity)
  const proved = vouched === null ? undefined : await findByEmail(tx, vouched)
  const person = known ?? (proved?.isEmailVerified ? proved : undefined)
  if (person === undefined || person.disabledAt !== null) return person
  if (await isRevoked(tx, person.id, begunAt)) return 'revoked'
  if (known === undefined && !(await link(tx, identity, person.id, at))) return undefined
  await tx.run(
    `UPDATE identities SET last_used_at = $at, told_name = $claimedName
     WHERE issuer = $issuer AND subject = $subject`,
    { ...identity, at },
  )
  await tx.run('UPDATE people SET last_sign_in_at = ? WHERE id = ?', at, person.id)
  return await ownerOf(tx, identity)
}

export const createIdentities = (database: Database): Identities => ({
  recognise: (identity, vouched, at, begunAt) =>
    database.change((tx) => arrive(tx, identity, vouched, at, begunAt)),
  link: (identity, personId, at, begunAt, act) =>
    database.change(async (tx) => {
      if (await isRevoked(tx, personId, begunAt)) return false
      const known = await ownerOf(tx, identity)
      if (known !== undefined) return known.id === personId
      const isLinked = await link(tx, identity, personId, at)
      if (isLinked && act !== undefined) await noteAct(tx, act)
      return isLinked
    }),
  async ofPerson(personId) {
    const rows = await database.all<IdentityRow>(
      'SELECT * FROM identities WHERE person_id = ? ORDER BY linked_at, issuer, subject',
      personId,
    )
    return rows.map(toIdentity)
  },
  async countPeople(issuer) {
    const row = await database.get<{ n: number }>(
      'SELECT count(DISTINCT person_id) AS n FROM identities WHERE issuer = ?',
      issuer,
    )
    return row?.n ?? 0
  },
  unlink: (personId, issuer, act) =>
    database.change(async (tx) => {
      const gone = await tx.run(
        'DELETE FROM identities WHERE person_id = ? AND issuer = ?',
        personId,
        issuer,
      )
      if (gone > 0) await noteAct(tx, act)
      return gone
    }),
})
