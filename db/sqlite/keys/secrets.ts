/** Digests of secrets, and the key of each. The secret itself is never stored. */
import type { Instant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Secret } from '#domain/secret.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

export interface Secrets {
  /** Call it inside the transaction that issues or rotates the key. */
  keep(secret: Secret, key: Pick<ApiKey, 'id' | 'label'>, at: Instant): void
  /** Ends every secret of a key at `until`, if it does not end sooner. Call it inside the transaction that rotates. */
  retire(id: KeyId, until: Instant): void
  /** Looks the secrets of a key up anew. Call it when that transaction is committed. */
  forget(id: KeyId): void
  /** The key this secret opens, if its time is not over. */
  keyOf(secret: Secret, at: Instant): KeyId | undefined
}

interface KnownSecret {
  readonly keyId: KeyId
  readonly expiresAt: Instant | null
}

/** A digest always means the same key, so remembering it is safe while no rotation moves its end. */
const MAX_KNOWN = 20_000

/** In base64. Of the runtime's hash APIs, this one allocates no objects to collect, and every request needs it. */
const toDigest = (secret: Secret): string => Bun.SHA256.hash(secret, 'base64')

export function createSecrets({ database, commit }: Connection): Secrets {
  const known = new Map<string, KnownSecret>()
  const find = statement<KnownSecret, [Buffer]>(
    database,
    'SELECT key_id AS keyId, expires_at AS expiresAt FROM key_secrets WHERE sha256 = ?',
  )
  const insert = statement<unknown, [Buffer, KeyId, string, Instant]>(
    database,
    'INSERT INTO key_secrets (sha256, key_id, label, created_at) VALUES (?, ?, ?, ?)',
  )
  const retire = statement<unknown, [{ id: KeyId; until: Instant }]>(
    database,
    `UPDATE key_secrets SET expires_at = $until
     WHERE key_id = $id AND (expires_at IS NULL OR expires_at > $until)`,
  )

  const lookUp = (digest: string): KnownSecret | undefined => {
    commit.flush()
    const row = find().get(Buffer.from(digest, 'base64'))
    if (row === null) return undefined
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(digest, row)
    return row
  }

  return {
    keep(secret, { id, label }, at) {
      insert().run(Buffer.from(toDigest(secret), 'base64'), id, label, at)
    },
    retire(id, until) {
      retire().run({ id, until })
    },
    forget(id) {
      for (const [digest, { keyId }] of known) if (keyId === id) known.delete(digest)
    },
    keyOf(secret, at) {
      const digest = toDigest(secret)
      const found = known.get(digest) ?? lookUp(digest)
      const open = found && (found.expiresAt === null || found.expiresAt > at)
      return open ? found.keyId : undefined
    },
  }
}
