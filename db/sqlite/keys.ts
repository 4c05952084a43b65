/** Keys in SQLite; every change is taken over by the standings in the same turn. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey, KeyAmendment, Keys } from '#domain/key.ts'
import type { Connection } from './connection.ts'
import { openKeyTable } from './key-table.ts'
import { createSecrets } from './secrets.ts'
import type { Standings } from './standing.ts'

export function createKeys(connection: Connection, standings: Standings): Keys {
  const { database, commit } = connection
  const table = openKeyTable(database)
  const secrets = createSecrets(connection)

  const demand = (id: KeyId): ApiKey => {
    const key = table.find(id)
    if (!key)
      throw new GatewayError('key_not_found', `there is no key ${id}`, {
        hint: 'gatewayctl keys list',
      })
    return withLastUse(key)
  }

  const store = (key: ApiKey): ApiKey => {
    table.update(key)
    return key
  }

  /** The row's last use is written now and then; a standing that is in memory knows better. */
  const withLastUse = (key: ApiKey): ApiKey => {
    const lastUsedAt = standings.loaded(key.id)?.lastUsedAt ?? key.lastUsedAt
    return lastUsedAt === key.lastUsedAt ? key : { ...key, lastUsedAt }
  }

  return {
    async issue(key, secret) {
      await commit.act(() => {
        table.insert(key)
        secrets.keep(secret, key)
      })
    },

    async findBySecret(secret, at) {
      const id = secrets.keyOf(secret, at)
      return id && standings.key(id, at)?.key
    },

    async find(id) {
      commit.flush()
      const key = table.find(id)
      return key && withLastUse(key)
    },

    async search(text, limit) {
      commit.flush()
      return table.search(text, limit).map(withLastUse)
    },

    async list(query) {
      commit.flush()
      const { limit } = query
      const keys = table.list({ ...query, limit: limit + 1 })
      return {
        keys: keys.slice(0, limit).map(withLastUse),
        hasMore: keys.length > limit,
        totalCount: table.count(query),
      }
    },

    amend: (id, amendment, at) =>
      commit.act(() => {
        const key = demand(id)
        if (key.revokedAt !== null) {
          throw new GatewayError('key_revoked', `key ${key.name} is revoked and cannot be changed`)
        }
        return store(amended(key, amendment, at))
      }, standings.replace),

    revoke: (id, at) =>
      commit.act(() => {
        const key = demand(id)
        return key.revokedAt === null ? store({ ...key, revokedAt: at, updatedAt: at }) : key
      }, standings.replace),
  }
}

function amended(key: ApiKey, { limits, ...fields }: KeyAmendment, at: Instant): ApiKey {
  return { ...key, ...fields, limits: { ...key.limits, ...limits }, updatedAt: at }
}
