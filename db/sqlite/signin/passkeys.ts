/** Passkeys in SQLite: the statement that looks a challenge up also consumes it, so that it is answered only once. */
import { MAX_PASSKEYS, type Passkey, type Passkeys } from '#signin/register/passkey.ts'
import { type PasskeyRow, toPasskey } from '../../rows/passkey-row.ts'
import { type PersonRow, toPerson } from '../../rows/person-row.ts'
import type { Connection } from '../engine/connection.ts'
import { type Named, statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareNoteEvent } from './events.ts'
import { prepareRevocations } from './revocations.ts'

export function createPasskeys({ database, commit }: Connection): Passkeys {
  const table = prepare(database)
  const revocations = prepareRevocations(database)
  const noteAct = prepareNoteAct(database)
  const noteEvent = prepareNoteEvent(database)
  const find = (credentialId: string): Passkey | undefined =>
    toPasskey(table.find().get({ credentialId }))

  return {
    challenge: (challenge) => commit.enqueue(() => void table.challenge().run({ ...challenge })),
    take: (holder, purpose, at) =>
      commit.enqueue(() => table.take().get({ holder, purpose, at })?.challenge),
    add: (passkey, event, begunAt) =>
      commit.commitDurably(() => {
        const { personId } = passkey
        if (revocations.isRevoked(personId, begunAt)) return 'revoked'
        if (find(passkey.credentialId) !== undefined) return 'known'
        if (table.ofPerson().all({ personId }).length >= MAX_PASSKEYS) return 'too_many'
        const transports = JSON.stringify(passkey.transports)
        const added = { ...passkey, transports, isSynced: Number(passkey.isSynced) }
        if (table.add().run(added).changes === 0) return 'revoked'
        noteEvent(event)
        return 'added'
      }),
    async find(credentialId) {
      commit.flush()
      return find(credentialId)
    },
    async ofPerson(personId) {
      commit.flush()
      return table
        .ofPerson()
        .all({ personId })
        .flatMap((row) => toPasskey(row) ?? [])
    },
    use: ({ credentialId, counter, at }, begunAt) =>
      commit.commitDurably(() => {
        const passkey = find(credentialId)
        if (passkey === undefined) return undefined
        const { personId: id } = passkey
        const person = toPerson(table.person().get({ id }))
        if (person === undefined || person.disabledAt !== null) return person
        if (revocations.isRevoked(id, begunAt)) return 'revoked'
        // A device that does not count says 0 each time.
        const counts = counter > 0 || passkey.counter > 0
        if (counts && counter <= passkey.counter) return 'cloned'
        table.use().run({ credentialId, counter, at })
        table.signIn().run({ id, at })
        return toPerson(table.person().get({ id }))
      }),
    remove: (personId, id, act) =>
      commit.commitDurably(() => {
        if (table.remove().run({ personId, id }).changes === 0) return false
        noteAct(act)
        return true
      }),
    sweep: (before, limit) => commit.enqueue(() => table.sweep().run({ before, limit }).changes),
  }
}

function prepare(database: Connection['database']) {
  const by = <Row>(sql: string) => statement<Row, [Named]>(database, sql)
  return {
    challenge: by(
      `REPLACE INTO passkey_challenges (holder, purpose, challenge, expires_at)
       VALUES ($holder, $purpose, $challenge, $expiresAt)`,
    ),
    take: by<{ challenge: string }>(
      `DELETE FROM passkey_challenges WHERE holder = $holder AND purpose = $purpose AND expires_at > $at
       RETURNING challenge`,
    ),
    // Selected from the people, so that one who is gone or disabled gets none.
    add: by(
      `INSERT INTO passkeys
         (id, credential_id, person_id, name, public_key, counter, transports, synced, created_at, last_used_at)
       SELECT $id, $credentialId, people.id, $name, $publicKey, $counter, $transports, $isSynced, $createdAt, $lastUsedAt
       FROM people WHERE people.id = $personId AND disabled_at IS NULL`,
    ),
    find: by<PasskeyRow>('SELECT * FROM passkeys WHERE credential_id = $credentialId'),
    ofPerson: by<PasskeyRow>(
      'SELECT * FROM passkeys WHERE person_id = $personId ORDER BY created_at, id',
    ),
    person: by<PersonRow>('SELECT * FROM people WHERE id = $id'),
    use: by(
      'UPDATE passkeys SET counter = $counter, last_used_at = $at WHERE credential_id = $credentialId',
    ),
    signIn: by('UPDATE people SET last_sign_in_at = $at WHERE id = $id'),
    remove: by('DELETE FROM passkeys WHERE person_id = $personId AND id = $id'),
    sweep: by(
      `DELETE FROM passkey_challenges WHERE holder IN
         (SELECT holder FROM passkey_challenges WHERE expires_at < $before LIMIT $limit)`,
    ),
  }
}
