/** Passkeys: the statement that looks a challenge up also consumes it, so that it is answered only once. */
import type { Instant } from '#domain/clock.ts'
import {
  MAX_PASSKEYS,
  type Passkey,
  type PasskeyId,
  type Passkeys,
} from '#signin/register/passkey.ts'
import type { PersonId } from '#signin/register/person.ts'
import { noteAct } from '../log/acts.ts'
import { all, type Engine, get, run, type Statements } from '../statements.ts'
import { noteEvent } from './events.ts'
import { findPerson, noteSignIn } from './people.ts'
import { isRevoked } from './revocations.ts'

interface PasskeyRow {
  readonly id: PasskeyId
  readonly credential_id: string
  readonly person_id: PersonId
  readonly name: string
  readonly public_key: string
  readonly counter: number
  readonly transports: string
  readonly synced: number
  readonly created_at: Instant
  readonly last_used_at: Instant | null
}

const toPasskey = (row: PasskeyRow): Passkey => ({
  id: row.id,
  personId: row.person_id,
  credentialId: row.credential_id,
  name: row.name,
  publicKey: row.public_key,
  counter: row.counter,
  transports: JSON.parse(row.transports) as readonly string[],
  isSynced: row.synced === 1,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

function* find(credentialId: string): Statements<Passkey | undefined> {
  const row = yield* get<PasskeyRow>('SELECT * FROM passkeys WHERE credential_id = $credentialId', {
    credentialId,
  })
  return row === null ? undefined : toPasskey(row)
}

const ofPerson = (personId: string): Statements<PasskeyRow[]> =>
  all('SELECT * FROM passkeys WHERE person_id = $personId ORDER BY created_at, id', { personId })

export const createPasskeys = (engine: Engine): Passkeys => ({
  async challenge(challenge) {
    await engine.run(
      `INSERT INTO passkey_challenges (holder, purpose, challenge, expires_at)
       VALUES ($holder, $purpose, $challenge, $expiresAt)
       ON CONFLICT (holder) DO UPDATE SET purpose = $purpose, challenge = $challenge, expires_at = $expiresAt`,
      { ...challenge },
    )
  },
  async take(holder, purpose, at) {
    const row = await engine.write(() =>
      get<{ challenge: string }>(
        `DELETE FROM passkey_challenges WHERE holder = $holder AND purpose = $purpose AND expires_at > $at
         RETURNING challenge`,
        { holder, purpose, at },
      ),
    )
    return row?.challenge
  },
  add: (passkey, event, begunAt) =>
    engine.change(function* () {
      const { personId } = passkey
      if (yield* isRevoked(personId, begunAt)) return 'revoked'
      if ((yield* find(passkey.credentialId)) !== undefined) return 'known'
      if ((yield* ofPerson(personId)).length >= MAX_PASSKEYS) return 'too_many'
      // Selected from the people, so that one who is gone or disabled gets none.
      const added = yield* run(
        `INSERT INTO passkeys
           (id, credential_id, person_id, name, public_key, counter, transports, synced, created_at, last_used_at)
         SELECT CAST($id AS text), CAST($credentialId AS text), people.id, CAST($name AS text), CAST($publicKey AS text),
           CAST($counter AS bigint), CAST($transports AS text), CAST($isSynced AS bigint), CAST($createdAt AS bigint),
           CAST($lastUsedAt AS bigint)
         FROM people WHERE people.id = $personId AND disabled_at IS NULL`,
        {
          ...passkey,
          transports: JSON.stringify(passkey.transports),
          isSynced: Number(passkey.isSynced),
        },
      )
      if (added === 0) return 'revoked'
      yield* noteEvent(event)
      return 'added'
    }),
  find: (credentialId) => engine.read(() => find(credentialId)),
  async ofPerson(personId) {
    return (await engine.read(() => ofPerson(personId))).map(toPasskey)
  },
  use: ({ credentialId, counter, at }, begunAt) =>
    engine.change(function* () {
      const passkey = yield* find(credentialId)
      if (passkey === undefined) return undefined
      const { personId: id } = passkey
      const person = yield* findPerson(id)
      if (person === undefined || person.disabledAt !== null) return person
      if (yield* isRevoked(id, begunAt)) return 'revoked'
      // A device that does not count says 0 each time.
      const counts = counter > 0 || passkey.counter > 0
      if (counts && counter <= passkey.counter) return 'cloned'
      yield* run(
        'UPDATE passkeys SET counter = $counter, last_used_at = $at WHERE credential_id = $credentialId',
        { credentialId, counter, at },
      )
      return yield* noteSignIn(id, at)
    }),
  remove: (personId, id, act) =>
    engine.change(function* () {
      const gone = yield* run('DELETE FROM passkeys WHERE person_id = $personId AND id = $id', {
        personId,
        id,
      })
      if (gone === 0) return false
      yield* noteAct(act)
      return true
    }),
  sweep: (before, limit) =>
    engine.run(
      `DELETE FROM passkey_challenges WHERE holder IN
         (SELECT holder FROM passkey_challenges WHERE expires_at < $before LIMIT $limit)`,
      { before, limit },
    ),
})
