/** The statements of the table of keys: every way a key is found, listed and stored. */
import type { Database } from 'bun:sqlite'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey, KeyQuery } from '#domain/key.ts'
import { fromKey, type KeyRow, toKey } from './key-row.ts'
import { statement } from './statement.ts'

export interface KeyTable {
  find(id: KeyId): ApiKey | undefined
  /** By id, exact name, or the start of the label; newest first. */
  search(text: string, limit: number): readonly ApiKey[]
  /** Newest first. */
  list(query: KeyQuery): readonly ApiKey[]
  /** How many the whole list has. */
  count(query: KeyQuery): number
  insert(key: ApiKey): void
  update(key: ApiKey): void
}

/** Compared as text, not as a pattern: `%` and `_` are letters here, and an empty text means nobody. */
const SEARCH = `
  SELECT * FROM keys
  WHERE id = $text OR name = $text OR ($text <> '' AND substr(label, 1, length($text)) = $text)
  ORDER BY id DESC LIMIT $limit`

const IN_SCOPE = `
  FROM keys
  WHERE ($account IS NULL OR account_id = $account) AND ($revoked OR revoked_at IS NULL)`

type Scope = { readonly account: string | null; readonly revoked: boolean }

const scopeOf = ({ accountId, includeRevoked }: KeyQuery): Scope => ({
  account: accountId ?? null,
  revoked: includeRevoked,
})

export function openKeyTable(database: Database): KeyTable {
  const find = statement<KeyRow, [KeyId]>(database, 'SELECT * FROM keys WHERE id = ?')
  const search = statement<KeyRow, [{ text: string; limit: number }]>(database, SEARCH)
  const list = statement<KeyRow, [Scope & { after: KeyId | null; limit: number }]>(
    database,
    `SELECT * ${IN_SCOPE} AND ($after IS NULL OR id < $after) ORDER BY id DESC LIMIT $limit`,
  )
  const count = statement<{ keys: number }, [Scope]>(
    database,
    `SELECT count(*) AS keys ${IN_SCOPE}`,
  )
  const store = (key: ApiKey, toSql: (columns: readonly string[]) => string): void => {
    const row = fromKey(key)
    database.prepare<unknown, [KeyRow]>(toSql(Object.keys(row))).run(row)
  }

  return {
    find(id) {
      const row = find().get(id)
      return row === null ? undefined : toKey(row)
    },
    search: (text, limit) => search().all({ text, limit }).map(toKey),
    list: (query) => {
      const { after, limit } = query
      const rows = list().all({ ...scopeOf(query), after: after ?? null, limit })
      return rows.map(toKey)
    },
    count: (query) => count().get(scopeOf(query))?.keys ?? 0,
    insert: (key) =>
      store(
        key,
        (columns) => `INSERT INTO keys (${columns.join(', ')}) VALUES ($${columns.join(', $')})`,
      ),
    update: (key) =>
      store(
        key,
        (columns) =>
          `UPDATE keys SET ${columns.map((name) => `${name} = $${name}`).join(', ')} WHERE id = $id`,
      ),
  }
}
