/** Keys in SQLite; every change is taken over by the standings in the same turn. */
import { and, count, desc, eq, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey, KeyAmendment, KeyQuery, Keys } from '#domain/key.ts'
import type { Connection } from './connection.ts'
import { fromKey, toKey } from './key-row.ts'
import { keys } from './schema.ts'
import { createSecrets } from './secrets.ts'
import type { Standings } from './standing.ts'

export function createKeys(connection: Connection, standings: Standings): Keys {
  const { drizzle, commit } = connection
  const secrets = createSecrets(connection)

  const demand = (id: KeyId): ApiKey => {
    const row = drizzle.select().from(keys).where(eq(keys.id, id)).get()
    if (!row)
      throw new GatewayError('key_not_found', `there is no key ${id}`, {
        hint: 'gatewayctl keys list',
      })
    return withLastUse(toKey(row))
  }

  const store = (key: ApiKey): ApiKey => {
    drizzle.update(keys).set(fromKey(key)).where(eq(keys.id, key.id)).run()
    return key
  }

  /** The row's last use is written now and then; the standing knows better. */
  const withLastUse = (key: ApiKey): ApiKey => {
    const lastUsedAt = standings.key(key.id, connection.clock.now())?.lastUsedAt ?? key.lastUsedAt
    return lastUsedAt === key.lastUsedAt ? key : { ...key, lastUsedAt }
  }

  return {
    async issue(key, secret) {
      await commit.act(() => {
        drizzle.insert(keys).values(fromKey(key)).run()
        secrets.keep(secret, key)
      })
    },

    async findBySecret(secret, at) {
      const id = secrets.keyOf(secret, at)
      return id && standings.key(id, at)?.key
    },

    async find(id) {
      commit.flush()
      const row = drizzle.select().from(keys).where(eq(keys.id, id)).get()
      return row && withLastUse(toKey(row))
    },

    async search(text, limit) {
      commit.flush()
      // Compared as text, not as a pattern: `%` and `_` are letters here, and an empty text means nobody.
      const startsWith = sql`${text} <> '' AND substr(${keys.label}, 1, length(${text})) = ${text}`
      const isMeant = or(eq(keys.id, text as KeyId), eq(keys.name, text), startsWith)
      const rows = drizzle
        .select()
        .from(keys)
        .where(isMeant)
        .orderBy(desc(keys.id))
        .limit(limit)
        .all()
      return rows.map((row) => withLastUse(toKey(row)))
    },

    async list(query) {
      commit.flush()
      const inScope = scopeOf(query)
      const rows = drizzle
        .select()
        .from(keys)
        .where(and(inScope, query.after && lt(keys.id, query.after)))
        .orderBy(desc(keys.id))
        .limit(query.limit + 1)
        .all()
      const total = drizzle.select({ keys: count() }).from(keys).where(inScope).get()
      return {
        keys: rows.slice(0, query.limit).map((row) => withLastUse(toKey(row))),
        hasMore: rows.length > query.limit,
        totalCount: total?.keys ?? 0,
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

const scopeOf = ({ accountId, includeRevoked }: KeyQuery): SQL | undefined =>
  and(
    accountId && eq(keys.accountId, accountId),
    includeRevoked ? undefined : isNull(keys.revokedAt),
  )

function amended(key: ApiKey, { limits, ...fields }: KeyAmendment, at: Instant): ApiKey {
  return { ...key, ...fields, limits: { ...key.limits, ...limits }, updatedAt: at }
}
