/** Identities in SQLite: looked up, or linked, in one transaction. */
import type { Instant } from '#domain/clock.ts'
import { emailKey } from '#signin/register/email.ts'
import type { ClaimedIdentity, Identities } from '#signin/register/identity.ts'
import type { Person, PersonId } from '#signin/register/person.ts'
import { type IdentityRow, toIdentity } from '../../rows/identity-row.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareRevocations } from './revocations.ts'

export function createIdentities({ database, commit }: Connection): Identities {
  const table = prepare(database)
  const revocations = prepareRevocations(database)
  const noteAct = prepareNoteAct(database)

  const link = (identity: ClaimedIdentity, personId: PersonId, at: Instant): boolean =>
    table.link().run({ ...identity, personId, at }).changes === 1

  const owner = ({ issuer, subject }: ClaimedIdentity): Person | undefined =>
    toPerson(table.owner().get({ issuer, subject }))

  const arrive = (
    identity: ClaimedIdentity,
    vouched: string | null,
    at: Instant,
    begunAt: number,
  ): Person | 'revoked' | undefined => {
    const known = owner(identity)
    const person =
      known ??
      (vouched === null ? undefined : toPerson(table.proved().get({ key: emailKey(vouched) })))
    if (person === undefined || person.disabledAt !== null) return person
    if (revocations.isRevoked(person.id, begunAt)) return 'revoked'
    if (known === undefined && !link(identity, person.id, at)) return undefined
    table.use().run({ ...identity, at })
    table.signIn().run({ id: person.id, at })
    return owner(identity)
  }

  return {
    recognise: (identity, vouched, at, begunAt) =>
      commit.commitDurably(() => arrive(identity, vouched, at, begunAt)),
    link: (identity, personId, at, begunAt, act) =>
      commit.commitDurably(() => {
        if (revocations.isRevoked(personId, begunAt)) return false
        const known = owner(identity)
        if (known !== undefined) return known.id === personId
        const isLinked = link(identity, personId, at)
        if (isLinked && act !== undefined) noteAct(act)
        return isLinked
      }),
    async ofPerson(personId) {
      commit.flush()
      return table.ofPerson().all({ personId }).map(toIdentity)
    },
    async countPeople(issuer) {
      commit.flush()
      return table.countPeople().get({ issuer })?.n ?? 0
    },
    unlink: (personId, issuer, act) =>
      commit.commitDurably(() => {
        const { changes } = table.unlink().run({ personId, issuer })
        if (changes > 0) noteAct(act)
        return changes
      }),
  }
}

function prepare(database: Connection['database']) {
  const by = <Row>(sql: string) => statement<Row, [Named]>(database, sql)
  return {
    owner: by<PersonRow>(
      `SELECT people.* FROM identities JOIN people ON people.id = person_id
       WHERE issuer = $issuer AND subject = $subject`,
    ),
    proved: by<PersonRow>('SELECT * FROM people WHERE email_key = $key AND email_verified = 1'),
    // Selected from both tables, so that a removed provider or person is never referred to.
    link: by(
      `INSERT INTO identities
       SELECT $issuer, $subject, people.id, $claimedName, $at, $at FROM people, identity_providers
       WHERE people.id = $personId AND issuer = $issuer`,
    ),
    use: by(
      `UPDATE identities SET last_used_at = $at, told_name = $claimedName
       WHERE issuer = $issuer AND subject = $subject`,
    ),
    signIn: by('UPDATE people SET last_sign_in_at = $at WHERE id = $id'),
    ofPerson: by<IdentityRow>(
      'SELECT * FROM identities WHERE person_id = $personId ORDER BY linked_at, issuer, subject',
    ),
    countPeople: by<{ n: number }>(
      'SELECT count(DISTINCT person_id) AS n FROM identities WHERE issuer = $issuer',
    ),
    unlink: by('DELETE FROM identities WHERE person_id = $personId AND issuer = $issuer'),
  }
}
