// The tables that Drizzle knows are as the migrations make them.
import { Database } from 'bun:sqlite'
import { is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { expect, test } from 'vitest'
import * as known from '#db/rows/tables.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly pk: number
}

const database = new Database(':memory:', { strict: true })
migrate(database, ':memory:')

const tables = Object.values<unknown>(known)
  .filter((value) => is(value, SQLiteTable))
  .map(getTableConfig)

const byName = (a: { readonly name: string }, b: { readonly name: string }) =>
  a.name < b.name ? -1 : 1

test('every table is strict', () => {
  const made = database
    .query<{ name: string; strict: number }, []>('PRAGMA table_list')
    .all()
    .filter(({ name }) => !name.startsWith('sqlite_'))
  expect(made.length).toBeGreaterThan(40)
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
