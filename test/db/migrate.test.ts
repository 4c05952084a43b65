// A database is brought to the newest schema once, and one from the future is refused untouched.
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { toLimits } from '#db/rows/limits-column.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from '#db/sqlite/engine/schema-version.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import { NO_LIMITS } from '#domain/limits.ts'
import { newSecret } from '#domain/secret.ts'
import { priceOf } from '#test/support/catalogue.ts'
import { handClock } from '#test/support/hand-clock.ts'
import {
  aCard,
  aClaim,
  aKey,
  anAccount,
  anAct,
  anActivity,
  aProvider,
} from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const clock = handClock('2026-08-22T12:00:00Z')

/** Every table, index and trigger as it was made, and every row that stands in a new database. */
const contentsOf = (database: Database) => {
  const parts = database
    .query<{ type: string; name: string; sql: string | null }, []>(
      'SELECT type, name, sql FROM sqlite_schema ORDER BY type, name',
    )
    .all()
  const rows = parts
    .filter(({ type }) => type === 'table')
    .map(({ name }) => [name, database.query(`SELECT * FROM "${name}"`).all()])
  return { parts, rows }
}

test('a new database is at once what the migrations make of an empty one in their turn', () => {
  const [inTurn, atOnce] = [new Database(':memory:'), new Database(':memory:')]
  for (const sql of MIGRATIONS) inTurn.run(sql)
  migrate(atOnce, ':memory:')
  expect(contentsOf(atOnce)).toEqual(contentsOf(inTurn))
})

test('no migration runs twice', () => {
  const database = new Database(':memory:', { strict: true })
  expect(schemaVersion(database)).toBe(0)
  migrate(database, ':memory:')
  expect(schemaVersion(database)).toBe(NEWEST_SCHEMA_VERSION)
  expect(MIGRATIONS).toHaveLength(NEWEST_SCHEMA_VERSION)
  database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acct_1', 'a', 0)")
  // A second run would fail on the first CREATE TABLE.
  migrate(database, ':memory:')
  expect(database.query('SELECT count(*) AS accounts FROM accounts').get()).toEqual({ accounts: 1 })
})

test('a failed migration is rolled back', () => {
  const database = new Database(':memory:', { strict: true })
  database.run('CREATE TABLE ledger (id TEXT)')
  expect(() => migrate(database, ':memory:')).toThrow()
  expect(schemaVersion(database)).toBe(0)
  expect(database.query("SELECT name FROM sqlite_schema WHERE type = 'table'").all()).toEqual([
    { name: 'ledger' },
  ])
})

test('what an older binary wrote is read: a log without tokens of images, and a price list without theirs', async () => {
  const dataDir = tempDirectory()
  const store = await openStore({ dataDir, clock })
  await store.accounts.create(anAccount(), anAct())
  const key = aKey(clock.now())
  await store.keys.issue(key, newSecret(), anAct())
  const line = anActivity(aClaim(key, clock.now()))
  store.activity.note(line)
  await store.providers.add(aProvider(), [], [], anAct())
  await store.models.add(aCard(), anAct())
  await store.close()

  const database = new Database(join(dataDir, DATABASE_FILE))
  database.run(`UPDATE price_versions SET prices = json_remove(
    prices, '$.imageInputToken', '$.cacheWrite1h', '$.serverTools', '$.modifiers')`)
  database.run('ALTER TABLE activity DROP COLUMN image_input_tokens')
  const adding = MIGRATIONS.find((sql) => sql.includes('image_input_tokens')) ?? ''
  database.run(adding)
  database.close(true)

  const again = await openStore({ dataDir, clock })
  expect((await again.activity.find(line.generationId))?.usage.imageInputTokens).toBe(0)
  expect(priceOf(again, 'acme/small', clock.now())?.prices).toMatchObject({
    imageInputToken: null,
    cacheWrite1h: null,
    serverTools: [],
    modifiers: [],
  })
  await again.close()
})

test('of models of an older binary only those of the demo are the catalogue’s, and draw one image; its keys bound no answer', () => {
  const database = new Database(':memory:', { strict: true })
  for (const sql of MIGRATIONS.slice(0, 16)) database.run(sql)
  database.run('PRAGMA user_version = 16')
  database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acct_1', 'a', 0)")
  database.run(`INSERT INTO keys (id, account_id, name, kind, label, created_at, updated_at)
    VALUES ('key_1', 'acct_1', 'k', 'ordinary', 'if-1…1', 0, 0)`)
  for (const [name, type] of [
    ['play', 'demo'],
    ['openai', 'openai'],
  ]) {
    database.run('INSERT INTO providers (name, type, base_url, created_at) VALUES (?, ?, ?, 0)', [
      name,
      type,
      'x:',
    ] as string[])
    database.run(
      `INSERT INTO models (id, provider, upstream_name, name, description, created_at, context_length, max_completion_tokens,
         input_modalities, output_modalities, supported_parameters)
       VALUES (? || '/m', ?, 'm', 'm', '', 0, 8000, NULL, '[]', '[]', '[]')`,
      [name, name] as string[],
    )
  }
  migrate(database, join(tempDirectory(), DATABASE_FILE))
  expect(
    database.query('SELECT id, catalogued, images_per_answer FROM models ORDER BY id').all(),
  ).toEqual([
    { id: 'openai/m', catalogued: 0, images_per_answer: 1 },
    { id: 'play/m', catalogued: 1, images_per_answer: 1 },
  ])
  expect(limitsOf(database)).toEqual([NO_LIMITS])
})

test('the limits of a key that stood in columns are those of its one column', () => {
  const database = new Database(':memory:', { strict: true })
  for (const sql of MIGRATIONS.slice(0, 33)) database.run(sql)
  database.run('PRAGMA user_version = 33')
  database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acct_1', 'a', 0)")
  database.run(`INSERT INTO keys (id, account_id, name, kind, label, rpm_limit, rpd_limit, concurrency_limit,
      daily_spend_nanos, monthly_spend_nanos, end_user_rpm, end_user_daily_nanos, max_output_tokens, allowed_models,
      created_at, updated_at)
    VALUES ('key_1', 'acct_1', 'k', 'ordinary', 'if-1…1', 60, 500, 4, 9007199000000000, 0, 6, 500000001, 4096, '["acme/*"]', 0, 0),
      ('key_2', 'acct_1', 'k', 'ordinary', 'if-2…2', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0)`)
  migrate(database, join(tempDirectory(), DATABASE_FILE))
  expect(limitsOf(database)).toEqual([
    {
      ...NO_LIMITS,
      rpm: 60,
      rpd: 500,
      concurrency: 4,
      dailySpend: 9_007_199_000_000_000n,
      monthlySpend: 0n,
      endUserRpm: 6,
      endUserDailySpend: 500_000_001n,
      maxOutputTokens: 4096,
      allowedModels: ['acme/*'],
    },
    NO_LIMITS,
  ])
})

const limitsOf = (database: Database) =>
  database
    .query<{ limits: string }, []>('SELECT limits FROM keys ORDER BY id')
    .all()
    .map(({ limits }) => toLimits(limits))

test('the account that a person was linked to is theirs as its owner', () => {
  const database = new Database(':memory:', { strict: true })
  for (const migration of MIGRATIONS.slice(0, 36)) database.run(migration)
  database.run('PRAGMA user_version = 36')
  database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acct_1', 'a', 0)")
  database.run(
    `INSERT INTO people VALUES ('usr_1', 'a@x', 'a@x', 1, NULL, 'acct_1', 7, 7, NULL, NULL),
       ('usr_2', 'b@x', 'b@x', 1, NULL, NULL, 8, 8, NULL, NULL)`,
  )
  migrate(database, join(tempDirectory(), DATABASE_FILE))
  expect(database.query('SELECT * FROM memberships').all()).toEqual([
    { account_id: 'acct_1', person_id: 'usr_1', role: 'owner', since: 7 },
  ])
  expect(database.query('SELECT id FROM people').all()).toEqual([{ id: 'usr_1' }, { id: 'usr_2' }])
})

test('what keys had spent before they were moved is of the accounts that were charged', () => {
  const database = new Database(':memory:', { strict: true })
  for (const sql of MIGRATIONS.slice(0, 48)) database.run(sql)
  for (const id of ['acct_1', 'acct_2', 'acct_3']) {
    database.run('INSERT INTO accounts (id, name, created_at) VALUES (?, ?, 0)', [id, id])
  }
  for (const [id, account] of [
    ['key_moved', 'acct_2'],
    ['key_stayed', 'acct_2'],
  ] as const) {
    database.run(
      `INSERT INTO keys (id, account_id, name, kind, label, created_at, updated_at)
       VALUES (?, ?, 'k', 'ordinary', 'if-1…1', 0, 0)`,
      [id, account],
    )
  }
  const charges = [
    ['acct_1', 'key_moved', 7, 20_000],
    ['acct_1', 'key_moved', 5, 20_000],
    ['acct_1', 'key_moved', 3, 20_001],
    ['acct_3', 'key_moved', 2, 20_001],
    ['acct_2', 'key_moved', 100, 20_001],
    ['acct_2', 'key_stayed', 1_000, 20_000],
  ] as const
  for (const [nth, [account, key, amount, day]] of charges.entries()) {
    database.run(
      `INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, day)
       VALUES (?, ?, 'charge', ?, 0, ?, ?, '90', ?)`,
      [`led_${nth}`, account, -amount, key, `gen-${nth}`, day],
    )
  }
  database.run(`INSERT INTO acts (id, at, who, verb, target, changed)
    VALUES ('act_1', 0, 'root', 'accounts.move-key', 'key_moved', '{}')`)
  for (const sql of MIGRATIONS.slice(48)) database.run(sql)
  const rows = database.query('SELECT * FROM moved_days ORDER BY day, account_id').values()
  expect(rows).toEqual([
    ['acct_1', 20_000, 12, 2],
    ['acct_2', 20_000, -12, -2],
    ['acct_1', 20_001, 3, 1],
    ['acct_2', 20_001, -5, -2],
    ['acct_3', 20_001, 2, 1],
  ])
})

test('a schema newer than this binary is refused, and the directory is free again', async () => {
  const dataDir = tempDirectory()
  const store = await openStore({ dataDir, clock })
  await store.accounts.create(anAccount(), anAct())
  await store.close()

  const path = join(dataDir, DATABASE_FILE)
  const setVersion = (version: number) => {
    const database = new Database(path)
    database.run(`PRAGMA user_version = ${version}`)
    database.close(true)
  }
  setVersion(NEWEST_SCHEMA_VERSION + 1)
  const refused = await openStore({ dataDir, clock }).catch((thrown) => thrown)
  expect(refused).toMatchObject({
    code: 'store_unavailable',
    message: `this database is schema ${NEWEST_SCHEMA_VERSION + 1}, this binary knows ${NEWEST_SCHEMA_VERSION}`,
  })
  expect(existsSync(`${path}-wal`)).toBe(false)

  setVersion(NEWEST_SCHEMA_VERSION)
  const again = await openStore({ dataDir, clock })
  expect(await again.accounts.list()).toHaveLength(1)
  await again.close()
})

test('the store tells its version and the newest', async () => {
  const store = await openStore({ dataDir: ':memory:', clock })
  expect(await store.health({ checkIntegrity: true })).toMatchObject({
    schemaVersion: NEWEST_SCHEMA_VERSION,
    newestSchemaVersion: NEWEST_SCHEMA_VERSION,
    integrityFindings: [],
  })
  await store.close()
})
