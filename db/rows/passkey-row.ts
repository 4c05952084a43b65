/** A passkey as its row and as the register's noun. */
import type { Instant } from '#domain/clock.ts'
import type { Passkey, PasskeyId } from '#signin/register/passkey.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface PasskeyRow {
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

export const toPasskey = (row: PasskeyRow | null): Passkey | undefined =>
  row === null
    ? undefined
    : {
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
      }
