/** Keys in SQLite; every change reaches the hot state in the same turn. */
import { accountClosed } from '#domain/account.ts'
import type { Amended } from '#domain/act.ts'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { type ApiKey, amendKey, type Keys } from '#domain/key.ts'
import { describeAmendment } from '#domain/key-report.ts'
import { labelOf, readSecret, type Secret } from '#domain/secret.ts'
import type { HotKey, HotState } from '../admission/hot-state.ts'
import type { Writer } from '../admission/writer.ts'
import type { Connection } from '../engine/connection.ts'
import { toStoreError, unavailable } from '../engine/disk.ts'
import type { GroupCommit } from '../engine/group-commit.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { prepareLeave } from '../money/moved-days.ts'
import { type KeyTable, openKeyTable } from './key-table.ts'
import { type KeyTally, openKeyTally } from './key-tally.ts'

export function createKeys(connection: Connection, hotState: HotState, noteUse: NoteUse): Keys {
  const { database } = connection
  const tables: KeyTables = {
    table: openKeyTable(database),
    tally: openKeyTally(database),
    secrets: createSecrets(connection),
  }
  return {
    ...findKeys(connection, hotState, tables),
    ...changeKeys(connection, hotState, tables),
    noteUse(id, at) {
      const hot = hotState.key(id, at)
      if (hot) noteUse(hot, at)
    },
  }
}

interface KeyTables {
  readonly table: KeyTable
  readonly tally: KeyTally
  readonly secrets: Secrets
}

type Finding = Pick<Keys, 'findBySecret' | 'find' | 'findMany' | 'search' | 'list' | 'isNamed'>

function findKeys(
  { commit }: Connection,
  hotState: HotState,
  { table, tally, secrets }: KeyTables,
): Finding {
  const seen = (key: ApiKey): ApiKey => withLastUse(key, hotState)
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

    async find(id) {
      commit.flushAwaited()
      const key = table.find(id)
      return key && seen(key)
    },

    async findMany(ids) {
      commit.flushAwaited()
      return ids.flatMap((id) => table.find(id) ?? []).map(seen)
    },

    async search(text, limit, accountId) {
      commit.flushAwaited()
      return table.search(text, limit, accountId).map(seen)
    },

    async list(query) {
      commit.flushAwaited()
      const { limit } = query
      const keys = table.list({ ...query, limit: limit + 1 })
      return {
        keys: keys.slice(0, limit).map(seen),
        hasMore: keys.length > limit,
        totalCount: tally.count(query),
      }
    },

    async isNamed(name, accountId) {
      commit.flushAwaited()
      return table.isNamed(name, accountId)
    },
  }
}

function changeKeys(
  { database, commit }: Connection,
  hotState: HotState,
  { table, tally, secrets }: KeyTables,
): Omit<Keys, keyof Finding | 'noteUse'> {
  const noteAct = prepareNoteAct(database)
  const leave = prepareLeave(database)
  const requireOpen = prepareRequireOpen(database)
  const requireKey = (id: KeyId): ApiKey => {
    const key = table.find(id)
    if (key) return withLastUse(key, hotState)
    throw new GatewayError('key_not_found', `there is no key ${id}`, {
      hint: 'gatewayctl keys list',
    })
  }

  const requireUnrevoked = (id: KeyId): ApiKey => {
    const key = requireKey(id)
    if (key.revokedAt === null) return key
    throw new GatewayError('key_revoked', `key ${key.name} is revoked and cannot be changed`)
  }

  const store = (key: ApiKey): ApiKey => {
    table.update(key)
    return key
  }

  return {
    async issue(key, secret, act) {
      const write = (): void => {
        requireOpen(key.accountId)
        noteAct(act)
        table.insert(key)
        secrets.keep(secret, key, key.createdAt)
      }
      await commit.commitDurably(write, () => tally.issued(key))
    },

    amend(id, amendment, act) {
      const write = (): Amended<ApiKey> => {
        const before = requireUnrevoked(id)
        const amended = { before, after: store(amendKey(before, amendment, act.at)) }
        noteAct(act, describeAmendment(amended))
        return amended
      }
      return commit.commitDurably(write, ({ after }) => hotState.replace(after))
    },

    move(id, accountId, act) {
      const write = (): Amended<ApiKey> => {
        const before = requireUnrevoked(id)
        requireOpen(accountId)
        leave(id, accountId)
        store({ ...before, accountId, updatedAt: act.at })
        noteAct(act)
        // Read again: its account's limits are others.
        return { before, after: requireKey(id) }
      }
      return commit.commitDurably(write, ({ before, after }) => {
        tally.moved(before, after)
        hotState.move(before, after)
      })
    },

    rotate(id, secret, graceUntil, act) {
      const { at } = act
      const write = (): ApiKey => {
        noteAct(act)
        const key = { ...requireUnrevoked(id), label: labelOf(secret), updatedAt: at }
        secrets.retire(id, graceUntil ?? at)
        secrets.keep(secret, key, at)
        return store(key)
      }
      return commit.commitDurably(write, (key) => {
        secrets.forget(id)
        hotState.replace(key)
      })
    },

    revoke(id, act) {
      const { at } = act
      let isFirst = false
      const write = (): ApiKey => {
        const key = requireKey(id)
        isFirst = key.revokedAt === null
        if (!isFirst) return key
        noteAct(act)
        return store({ ...key, revokedAt: at, updatedAt: at })
      }
      return commit.commitDurably(write, (key) => {
        if (isFirst) tally.revoked(key)
        // Its secrets may stay known: they lead to the key, and that is looked at for each request.
        hotState.replace(key)
      })
    },
  }
}

/** An account that may get keys. @throws account_not_found, account_closed */
function prepareRequireOpen(database: Connection['database']): (id: AccountId) => void {
  const owner = statement<{ name: string; closed_at: Instant | null }, [AccountId]>(
    database,
    'SELECT name, closed_at FROM accounts WHERE id = ?',
  )
  return (id) => {
    const row = owner().get(id)
    if (row === null) throw new GatewayError('account_not_found', `there is no account ${id}`)
    if (row.closed_at !== null) throw accountClosed(row)
  }
}

/** The row's last use is written now and then; the hot state in memory is newer. */
function withLastUse(key: ApiKey, hotState: HotState): ApiKey {
  const lastUsedAt = hotState.loaded(key.id)?.lastUsedAt ?? key.lastUsedAt
  return lastUsedAt === key.lastUsedAt ? key : { ...key, lastUsedAt }
}

export interface Secrets {
  /** Call it inside the transaction that issues or rotates the key. */
  keep(secret: Secret, key: Pick<ApiKey, 'id' | 'label'>, at: Instant): void
  /** Ends every secret of a key at `until`, if it does not end sooner. Call it inside the transaction that rotates. */
  retire(id: KeyId, until: Instant): void
  /** Looks the secrets of a key up anew. Call it when that transaction is committed. */
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

/** In base64. Of the runtime's hash APIs, this one allocates no objects to collect, and every request needs it. */
const toDigest = (token: string): string => Bun.SHA256.hash(token, 'base64')

function createSecrets({ database, commit }: Connection): Secrets {
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
    keep(secret, { id, label }, at) {
      insert().run(Buffer.from(toDigest(secret), 'base64'), id, label, at)
    },
    retire(id, until) {
      retire().run({ id, until })
    },
    forget(id) {
      for (const [digest, { keyId }] of known) if (keyId === id) known.delete(digest)
    },
    keyOf(token, at) {
      const digest = toDigest(token)
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
