// What somebody did to the schema by hand is found, and what only an engine writes otherwise is not.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { schemaFindings } from '#db/sqlite/files/schema-findings.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'

let database: Database
beforeEach(() => {
  database = new Database(':memory:', { strict: true })
  migrate(database, ':memory:')
})
afterEach(() => database.close(true))

test('what the migrations made is as they made it, also what ANALYZE leaves', () => {
  database.run('ANALYZE')
  expect(schemaFindings(database)).toEqual([])
})

test('one of an older schema is held against its own migrations', () => {
  const older = new Database(':memory:', { strict: true })
  for (const sql of MIGRATIONS.slice(0, 9)) older.run(sql)
  older.run('PRAGMA user_version = 9')
  expect(schemaFindings(older)).toEqual([])
  older.run('DROP TRIGGER acts_are_append_only_update')
  expect(schemaFindings(older)).toHaveLength(1)
  older.close(true)
})

test('a trigger and an index that were dropped are missing', () => {
  database.run('DROP TRIGGER ledger_is_append_only_update')
  database.run('DROP INDEX keys_by_name')
  expect(schemaFindings(database)).toEqual([
    { what: 'index keys_by_name of keys', is: 'missing' },
    { what: 'trigger ledger_is_append_only_update of ledger', is: 'missing' },
  ])
})

test('a trigger that does nothing now, a column more, and what was never ours', () => {
  database.run('DROP TRIGGER ledger_is_append_only_delete')
  database.run(
    'CREATE TRIGGER ledger_is_append_only_delete BEFORE DELETE ON ledger BEGIN SELECT 1; END',
  )
  database.run('ALTER TABLE accounts ADD COLUMN more TEXT')
  database.run('CREATE VIEW balances AS SELECT name FROM accounts')
  expect(schemaFindings(database)).toEqual([
    { what: 'table accounts', is: 'changed' },
    { what: 'trigger ledger_is_append_only_delete of ledger', is: 'changed' },
    { what: 'view balances of balances', is: 'added' },
  ])
})

test('quotes, spaces and comments make no difference', () => {
  const read = database.query<{ sql: string }, []>(
    "SELECT sql FROM sqlite_schema WHERE name = 'keys_by_name'",
  )
  const made = read.get()?.sql ?? ''
  database.run('DROP INDEX keys_by_name')
  database.run(made.replace('keys_by_name', '"keys_by_name" -- by name\n  '))
  expect(read.get()?.sql).not.toBe(made)
  expect(schemaFindings(database)).toEqual([])
})
