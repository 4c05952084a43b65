/** The statements of the table of keys: every way a key is found, listed and stored. */
import type { Database } from 'bun:sqlite'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey, KeyQuery } from '#domain/key.ts'
import { type FoundKeyRow, fromKey, KEY_COLUMNS, type KeyRow, toKey } from '../../rows/key-row.ts'
import { statement } from '../engine/statement.ts'

export interface KeyTable {
  find(id: KeyId): ApiKey | undefined
  /** By id, exact name, or the start of the label; newest first. */
  search(text: string, limit: number, accountId?: AccountId): readonly ApiKey[]
  /** Newest first. */
  list(query: KeyQuery): readonly ApiKey[]
  /** Whether a key that is not revoked has this name. */
  isNamed(name: string, accountId?: AccountId): boolean
  insert(key: ApiKey): void
  update(key: ApiKey): void
}

/** Compared as text, not as a pattern: `%` and `_` are letters here, and an empty text means nobody. */
const SEARCH = `
  SELECT ${KEY_COLUMNS} FROM keys
  WHERE (id = $text OR name = $text OR ($text <> '' AND substr(label, 1, length($text)) = $text))
    AND ($account IS NULL OR account_id = $account)
  ORDER BY id DESC LIMIT $limit`

/** Found from an index and not by leafing: every id sorts before `l`. */
const listSql = (whose: string): string => `
  SELECT ${KEY_COLUMNS} FROM keys
  WHERE ${whose} AND ($revoked OR revoked_at IS NULL) AND id < ifnull($after, 'l')
  ORDER BY id DESC LIMIT $limit`

type Slice = { readonly after: KeyId | null; readonly revoked: boolean; readonly limit: number }

export function openKeyTable(database: Database): KeyTable {
  const find = statement<FoundKeyRow, [KeyId]>(
    database,
    `SELECT ${KEY_COLUMNS} FROM keys WHERE id = ?`,
  )
  const search = statement<
    FoundKeyRow,
    [{ text: string; limit: number; account: AccountId | null }]
  >(database, SEARCH)
  const listAll = statement<FoundKeyRow, [Slice]>(database, listSql('TRUE'))
  const listOf = statement<FoundKeyRow, [Slice & { account: AccountId }]>(
    database,
    listSql('account_id = $account'),
  )
  const named = statement<unknown, [{ name: string; account: AccountId | null }]>(
    database,
    `SELECT 1 FROM keys WHERE name = $name AND revoked_at IS NULL
       AND ($account IS NULL OR account_id = $account) LIMIT 1`,
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
    search: (text, limit, accountId) =>
      search()
        .all({ text, limit, account: accountId ?? null })
        .map(toKey),
    list: ({ accountId, after, includeRevoked, limit }) => {
      const slice = { after: after ?? null, revoked: includeRevoked, limit }
      const rows =
        accountId === undefined
          ? listAll().all(slice)
          : listOf().all({ ...slice, account: accountId })
      return rows.map(toKey)
    },
    isNamed: (name, accountId) => named().get({ name, account: accountId ?? null }) !== null,
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
