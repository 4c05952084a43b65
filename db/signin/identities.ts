/** Identities: looked up, or linked, in one transaction. */
import type { Instant } from '#domain/clock.ts'
import type { ClaimedIdentity, Identities, Identity } from '#signin/register/identity.ts'
import type { Person, PersonId } from '#signin/register/person.ts'
import { noteAct } from '../log/acts.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'
import { findByEmail, noteSignIn, personOf } from './people.ts'
import { isRevoked } from './revocations.ts'

interface IdentityRow {
  readonly issuer: string
  readonly subject: string
  readonly person_id: PersonId
  readonly told_name: string | null
  readonly linked_at: Instant
  readonly last_used_at: Instant
}

const toIdentity = (row: IdentityRow): Identity => ({
  issuer: row.issuer,
  subject: row.subject,
  personId: row.person_id,
  claimedName: row.told_name,
  linkedAt: row.linked_at,
  lastUsedAt: row.last_used_at,
})

/** Selected from both tables, so that a removed provider or person is never referred to. */
function* link(identity: ClaimedIdentity, personId: PersonId, at: Instant): Statements<boolean> {
  const linked = yield* run(
    `INSERT INTO identities (issuer, subject, person_id, told_name, linked_at, last_used_at)
     SELECT issuer, CAST($subject AS text), people.id, CAST($claimedName AS text), CAST($at AS bigint), $at
     FROM people, identity_providers WHERE people.id = $personId AND issuer = $issuer`,
    { ...identity, personId, at },
  )
  return linked === 1
}

const ownerOf = ({ issuer, subject }: ClaimedIdentity): Statements<Person | undefined> =>
  personOf(
    'identities JOIN people ON people.id = person_id WHERE issuer = $issuer AND subject = $subject',
    { issuer, subject },
  )

function* arrive(
  identity: ClaimedIdentity,
  vouched: string | null,
  at: Instant,
  begunAt: number,
): Statements<Person | 'revoked' | undefined> {
  const known = yield* ownerOf(identity)
  const proved = vouched === null ? undefined : yield* findByEmail(vouched)
  const person = known ?? (proved?.isEmailVerified ? proved : undefined)
  if (person === undefined || person.disabledAt !== null) return person
  if (yield* isRevoked(person.id, begunAt)) return 'revoked'
  if (known === undefined && !(yield* link(identity, person.id, at))) return undefined
  yield* run(
    `UPDATE identities SET last_used_at = $at, told_name = $claimedName
     WHERE issuer = $issuer AND subject = $subject`,
    { ...identity, at },
  )
  return yield* noteSignIn(person.id, at)
}

export const createIdentities = (engine: Engine): Identities => ({
  recognise: (identity, vouched, at, begunAt) =>
    engine.change(() => arrive(identity, vouched, at, begunAt)),
  link: (identity, personId, at, begunAt, act) =>
    engine.change(function* () {
      if (yield* isRevoked(personId, begunAt)) return false
      const known = yield* ownerOf(identity)
      if (known !== undefined) return known.id === personId
      const isLinked = yield* link(identity, personId, at)
      if (isLinked && act !== undefined) yield* noteAct(act)
      return isLinked
    }),
  async ofPerson(personId) {
    const rows = await engine.read(() =>
      all<IdentityRow>(
        'SELECT * FROM identities WHERE person_id = $personId ORDER BY linked_at, issuer, subject',
        { personId },
      ),
    )
    return rows.map(toIdentity)
  },
  async countPeople(issuer) {
    const row = await engine.read(() =>
      get<{ n: number }>(
        'SELECT count(DISTINCT person_id) AS n FROM identities WHERE issuer = $issuer',
        { issuer },
      ),
    )
    return row?.n ?? 0
  },
  unlink: (personId, issuer, act) =>
    engine.change(function* () {
      const gone = yield* run(
        'DELETE FROM identities WHERE person_id = $personId AND issuer = $issuer',
        { personId, issuer },
      )
      if (gone > 0) yield* noteAct(act)
      return gone
    }),
})
