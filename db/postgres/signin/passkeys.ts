/** Passkeys in PostgreSQL: the statement that looks a challenge up also consumes it, so that it is answered only once. */
import { MAX_PASSKEYS, type Passkey, type Passkeys } from '#signin/register/passkey.ts'
import { type PasskeyRow, toPasskey } from '../../rows/passkey-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { noteEvent } from './events.ts'
import { findPerson } from './people.ts'
import { isRevoked } from './revocations.ts'

const find = async (sql: Sql, credentialId: string): Promise<Passkey | undefined> =>
  toPasskey(
    await sql.get<PasskeyRow>('SELECT * FROM passkeys WHERE credential_id = ?', credentialId),
  )

const ofPerson = (sql: Sql, personId: string): Promise<PasskeyRow[]> =>
  sql.all<PasskeyRow>(
    'SELECT * FROM passkeys WHERE person_id = ? ORDER BY created_at, id',
    personId,
  )

export const createPasskeys = (database: Database): Passkeys => ({
  async challenge(challenge) {
    await database.run(
      `INSERT INTO passkey_challenges (holder, purpose, challenge, expires_at)
       VALUES ($holder, $purpose, $challenge, $expiresAt)
       ON CONFLICT (holder) DO UPDATE SET purpose = $purpose, challenge = $challenge, expires_at = $expiresAt`,
      { ...challenge },
    )
  },
  async take(holder, purpose, at) {
    const row = await database.get<{ challenge: string }>(
      `DELETE FROM passkey_challenges WHERE holder = ? AND purpose = ? AND expires_at > ?
       RETURNING challenge`,
      holder,
      purpose,
      at,
    )
    return row?.challenge
  },
  add: (passkey, event, begunAt) =>
    database.change(async (tx) => {
      const { personId } = passkey
      if (await isRevoked(tx, personId, begunAt)) return 'revoked'
      if ((await find(tx, passkey.credentialId)) !== undefined) return 'known'
      if ((await ofPerson(tx, personId)).length >= MAX_PASSKEYS) return 'too_many'
      // Selected from the people, so that one who is gone or disabled gets none.
      const added = await tx.run(
        `INSERT INTO passkeys
           (id, credential_id, person_id, name, public_key, counter, transports, synced, created_at, last_used_at)
         SELECT $id::text, $credentialId::text, people.id, $name::text, $publicKey::text, $counter::bigint, $transports::text,
           $isSynced::bigint, $createdAt::bigint, $lastUsedAt::bigint
         FROM people WHERE people.id = $personId AND disabled_at IS NULL`,
        {
          ...passkey,
          transports: JSON.stringify(passkey.transports),
          isSynced: Number(passkey.isSynced),
        },
      )
      if (added === 0) return 'revoked'
      await noteEvent(tx, event)
      return 'added'
    }),
  find: (credentialId) => find(database, credentialId),
  async ofPerson(personId) {
    return (await ofPerson(database, personId)).flatMap((row) => toPasskey(row) ?? [])
  },
  use: ({ credentialId, counter, at }, begunAt) =>
    database.change(async (tx) => {
      const passkey = await find(tx, credentialId)
      if (passkey === undefined) return undefined
      const { personId: id } = passkey
      const person = await findPerson(tx, id)
      if (person === undefined || person.disabledAt !== null) return person
      if (await isRevoked(tx, id, begunAt)) return 'revoked'
      // A device that does not count says 0 each time.
      const counts = counter > 0 || passkey.counter > 0
      if (counts && counter <= passkey.counter) return 'cloned'
      await tx.run(
        'UPDATE passkeys SET counter = ?, last_used_at = ? WHERE credential_id = ?',
        counter,
        at,
        credentialId,
      )
      await tx.run('UPDATE people SET last_sign_in_at = ? WHERE id = ?', at, id)
      return await findPerson(tx, id)
    }),
  remove: (personId, id, act) =>
    database.change(async (tx) => {
      const gone = await tx.run('DELETE FROM passkeys WHERE person_id = ? AND id = ?', personId, id)
      if (gone === 0) return false
      await noteAct(tx, act)
      return true
    }),
  sweep: (before, limit) =>
    database.run(
      `DELETE FROM passkey_challenges WHERE holder IN
         (SELECT holder FROM passkey_challenges WHERE expires_at < ? LIMIT ?)`,
      before,
      limit,
    ),
})
