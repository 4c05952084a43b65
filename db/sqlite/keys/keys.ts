/** What SQLite has of its own of keys: a request finds them in memory, which every change reaches in its own turn. */
import type { Instant } from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { readSecret } from '#domain/secret.ts'
import type { KeysOf } from '../../keys/keys.ts'
import { KEY_COLUMNS } from '../../rows/key-row.ts'
import type { HotKey, HotState } from '../admission/hot-state.ts'
import type { Writer } from '../admission/writer.ts'
import type { Connection } from '../engine/connection.ts'
import { toStoreError, unavailable } from '../engine/disk.ts'
import type { GroupCommit } from '../engine/group-commit.ts'
import { statement } from '../engine/statement.ts'
import { leave } from '../money/moved-days.ts'
import { openKeyTally } from './key-tally.ts'

export function keysOf(connection: Connection, hotState: HotState, noteUse: NoteUse): KeysOf {
  const secrets = createSecrets(connection)
  const tally = openKeyTally()
  return {
    async findBySecret(token, at) {
      try {
        const id = secrets.keyOf(token, at)
        const hot = id === undefined ? undefined : hotState.key(id, at)
        // A digest refers to its key: without one the table of keys has lost a row.
        if (id !== undefined && hot === undefined) throw unavailable('damaged')
        return hot?.key
      } catch (thrown) {
        throw toStoreError(thrown)
      }
    },
    noteUse(id, at) {
      const hot = hotState.key(id, at)
      if (hot) noteUse(hot, at)
    },
    select: `SELECT ${KEY_COLUMNS} FROM keys`,
    ids: 'SELECT value FROM json_each($ids)',
    count: tally.count,
    *open() {},
    leave,
    *forget() {},
    seen(key) {
      const lastUsedAt = hotState.loaded(key.id)?.lastUsedAt ?? key.lastUsedAt
      return lastUsedAt === key.lastUsedAt ? key : { ...key, lastUsedAt }
    },
    changed(before, after) {
      tally.changed(before, after)
      if (before === null) return
      secrets.forget(after.id)
      hotState.replace(before, after)
    },
  }
}

interface Secrets {
  /** Looks the secrets of a key up anew. Call it when a change of them is committed. */
  forget(id: KeyId): void
  /** The key this token opens, if its time is not over. */
  keyOf(token: string, at: Instant): KeyId | undefined
}

interface KnownSecret {
  readonly keyId: KeyId
  readonly expiresAt: Instant | null
}

/** A digest always means the same key, so remembering it is safe while no rotation moves its end. */
const MAX_KNOWN = 20_000

function createSecrets({ database, commit }: Connection): Secrets {
  const known = new Map<string, KnownSecret>()
  const find = statement<KnownSecret, [Buffer]>(
    database,
    'SELECT key_id AS keyId, expires_at AS expiresAt FROM key_secrets WHERE sha256 = ?',
  )

  const lookUp = (token: string, digest: string): KnownSecret | undefined => {
    if (readSecret(token) === undefined) return undefined
    commit.flush()
    const row = find().get(Buffer.from(digest, 'base64'))
    if (row === null) return undefined
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(digest, row)
    return row
  }

  return {
    forget(id) {
      for (const [digest, { keyId }] of known) if (keyId === id) known.delete(digest)
    },
    keyOf(token, at) {
      // Of the runtime's hash APIs, this one allocates no objects to collect, and every request needs it.
      const digest = Bun.SHA256.hash(token, 'base64')
      const found = known.get(digest) ?? lookUp(token, digest)
      const open = found && (found.expiresAt === null || found.expiresAt > at)
      return open ? found.keyId : undefined
    },
  }
}

const WRITE_INTERVAL_MS = 60_000

/** Records a use; the row is written later. */
export type NoteUse = (hot: HotKey, at: Instant) => void

export function prepareNoteUse({ defer }: GroupCommit, writer: Writer): NoteUse {
  const write = ({ key, useWrittenAt }: HotKey): void => {
    if (useWrittenAt !== null) writer.used(key.id, useWrittenAt)
  }
  return (hot, at) => {
    hot.lastUsedAt = at
    if (!isDue(hot, at)) return
    hot.useWrittenAt = at
    defer(write, hot)
  }
}

/** What was written further ahead was written before the clock was set back. */
const isDue = ({ useWrittenAt }: HotKey, at: Instant): boolean =>
  useWrittenAt === null || Math.abs(at - useWrittenAt) >= WRITE_INTERVAL_MS
