// The tables as Drizzle knows them are the tables that the migrations make.
import { Database } from 'bun:sqlite'
import { is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { expect, test } from 'vitest'
import * as shared from '#db/rows/tables.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import * as schema from '#db/sqlite/schema.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly pk: number
}

const database = new Database(':memory:', { strict: true })
migrate(database, ':memory:')

const tables = [...Object.values<unknown>(schema), ...Object.values<unknown>(shared)]
  .filter((value) => is(value, SQLiteTable))
  .map(getTableConfig)

const byName = (a: { readonly name: string }, b: { readonly name: string }) =>
  a.name < b.name ? -1 : 1

/** Tables of the sign-in provider and of the catalogue: plain SQL alone speaks of them. */
const PLAIN = [
  'aliases',
  'artifacts',
  'catalogue_version',
  'clients',
  'code_mails',
  'credentials',
  'detours',
  'events',
  'hops',
  'identities',
  'identity_providers',
  'invitations',
  'logouts',
  'mail_code_counts',
  'mail_codes',
  'memberships',
  'models',
  'notice_settings',
  'passkey_challenges',
  'passkeys',
  'people',
  'person_groups',
  'price_versions',
  'providers',
  'rates',
  'revocations',
  'routes',
  'signin_events',
  'signin_secrets',
  'signing_keys',
]

test('both know the same tables, every one of them strict', () => {
  const made = database
    .query<{ name: string; strict: number }, []>('PRAGMA table_list')
    .all()
    .filter(({ name }) => !name.startsWith('sqlite_'))
  expect(made.map(({ name }) => name).sort()).toEqual(
    [...tables.map(({ name }) => name), ...PLAIN].sort(),
  )
  expect(made.filter(({ strict }) => strict !== 1)).toEqual([])
})

test.each(tables.map((table) => [table.name, table] as const))(
  'both know the same columns of %s',
  (name, table) => {
    const made = database.query<Column, []>(`PRAGMA table_info(${name})`).all()
    const keyColumns = table.primaryKeys.flatMap(({ columns }) => columns.map((one) => one.name))
    const known = table.columns.map((column) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      isRequired: column.notNull,
      isKey: column.primary || keyColumns.includes(column.name),
    }))
    const expected = made.map((column) => ({
      name: column.name,
      type: column.type,
      // A key of a WITHOUT ROWID table is required whatever the column says.
      isRequired: column.notnull === 1 || column.pk > 0,
      isKey: column.pk > 0,
    }))
    expect([...known].sort(byName)).toEqual([...expected].sort(byName))
  },
)

test('no amount is ever kept as a float', () => {
  const types = database
    .query<{ type: string }, []>(
      `SELECT DISTINCT upper(c.type) AS type FROM pragma_table_list t, pragma_table_info(t.name) c
       WHERE t.name NOT LIKE 'sqlite_%'`,
    )
    .all()
  expect(types.map(({ type }) => type).sort()).toEqual(['BLOB', 'INTEGER', 'TEXT'])
})
