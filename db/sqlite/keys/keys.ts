/** Keys in SQLite; every change reaches the hot state in the same turn. */
import type { Amended } from '#domain/act.ts'
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import { type ApiKey, amendKey, type Keys } from '#domain/key.ts'
import { describeAmendment } from '#domain/key-report.ts'
import { labelOf } from '#domain/secret.ts'
import type { HotState } from '../admission/hot-state.ts'
import type { Connection } from '../engine/connection.ts'
import { unavailable } from '../engine/disk.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { type KeyTable, openKeyTable } from './key-table.ts'
import { type KeyTally, openKeyTally } from './key-tally.ts'
import type { NoteUse } from './key-use.ts'
import { createSecrets, type Secrets } from './secrets.ts'

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

type Finding = Pick<Keys, 'findBySecret' | 'find' | 'search' | 'list' | 'isNamed'>

function findKeys(
  { commit }: Connection,
  hotState: HotState,
  { table, tally, secrets }: KeyTables,
): Finding {
  const seen = (key: ApiKey): ApiKey => withLastUse(key, hotState)
  return {
    findBySecret(secret, at) {
      const id = secrets.keyOf(secret, at)
      if (id === undefined) return undefined
      const hot = hotState.key(id, at)
      // A digest refers to its key: without one the table of keys has lost a row.
      if (hot === undefined) throw unavailable('damaged')
      return hot.key
    },

    async find(id) {
      commit.flush()
      const key = table.find(id)
      return key && seen(key)
    },

    async search(text, limit, accountId) {
      commit.flush()
      return table.search(text, limit, accountId).map(seen)
    },

    async list(query) {
      commit.flush()
      const { limit } = query
      const keys = table.list({ ...query, limit: limit + 1 })
      return {
        keys: keys.slice(0, limit).map(seen),
        hasMore: keys.length > limit,
        totalCount: tally.count(query),
      }
    },

    async isNamed(name, accountId) {
      commit.flush()
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
        hotState.replace(key)
      })
    },
  }
}

/** The row's last use is written now and then; the hot state in memory is newer. */
function withLastUse(key: ApiKey, hotState: HotState): ApiKey {
  const lastUsedAt = hotState.loaded(key.id)?.lastUsedAt ?? key.lastUsedAt
  return lastUsedAt === key.lastUsedAt ? key : { ...key, lastUsedAt }
}
