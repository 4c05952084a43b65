// A database is brought to the newest schema once, and one from the future is refused untouched.
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { migrate, NEWEST_SCHEMA_VERSION, schemaVersion } from '#db/sqlite/migrate.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import { newSecret } from '#domain/secret.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aCard, aClaim, aKey, anAccount, anActivity, aProvider } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const clock = handClock('2026-08-22T12:00:00Z')

test('every migration runs once', () => {
  const database = new Database(':memory:', { strict: true })
  expect(schemaVersion(database)).toBe(0)
  migrate(database, ':memory:')
  expect(schemaVersion(database)).toBe(NEWEST_SCHEMA_VERSION)
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
  await store.accounts.create(anAccount())
  const key = aKey(clock.now())
  await store.keys.issue(key, newSecret())
  const line = anActivity(aClaim(key, clock.now()))
  store.activity.note(line)
  await store.providers.add(aProvider(), null)
  await store.models.add(aCard())
  await store.close()

  const database = new Database(join(dataDir, DATABASE_FILE))
  database.run(`UPDATE price_versions SET prices = json_remove(prices, '$.imageInputToken')`)
  database.run('ALTER TABLE activity DROP COLUMN image_input_tokens')
  const adding = MIGRATIONS.find((sql) => sql.includes('image_input_tokens')) ?? ''
  database.run(adding)
  database.close(true)

  const again = await openStore({ dataDir, clock })
  expect((await again.activity.find(line.generationId))?.usage.imageInputTokens).toBe(0)
  expect((await again.models.find('acme/small'))?.price?.prices.imageInputToken).toBeNull()
  await again.close()
})

test('a schema newer than this binary is refused, and the directory is free again', async () => {
  const dataDir = tempDirectory()
  const store = await openStore({ dataDir, clock })
  await store.accounts.create(anAccount())
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
