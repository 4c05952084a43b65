/** Copies of a database: one moment of it, while it is written to; whole under their name or not there; checked before they replace anything. */
import { Database } from 'bun:sqlite'
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { migrate } from '#db/sqlite/engine/migrate.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from '#db/sqlite/engine/schema-version.ts'
import { copyFile } from '#db/sqlite/files/copy.ts'
import { examineCopy } from '#db/sqlite/files/examine-copy.ts'
import { replaceDatabase } from '#db/sqlite/files/restore.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import { systemClock } from '#domain/clock.ts'
import { newGenerationId } from '#domain/id.ts'
import { newSecret } from '#domain/secret.ts'
import { startChild } from '#test/support/child.ts'
import { aKey, anAccount, anAct, aTopUp, usd } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const clock = systemClock

/** A directory with an account, a key and some money. */
async function furnished(): Promise<string> {
  const dataDir = tempDirectory()
  const store = await openStore({ dataDir, clock })
  await store.accounts.create(anAccount(), anAct())
  await store.ledger.credit(aTopUp(clock.now(), usd('20')), anAct())
  await store.keys.issue(aKey(clock.now()), newSecret(), anAct())
  await store.close()
  return dataDir
}

/** Charges and credits that a database knows, by the names that the child acknowledged them under. */
function known(path: string): ReadonlySet<string> {
  const database = new Database(path, { readonly: true, strict: true })
  const rows = database
    .query<{ name: string }, []>('SELECT coalesce(generation_id, ref) AS name FROM ledger')
    .all()
  database.close(true)
  return new Set(rows.map(({ name }) => name))
}

const acknowledged = (printed: string): readonly string[] =>
  printed
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => line.split(' ')[1] ?? [])

test('while requests are charged and money comes in, each copy is one moment of it: all that was acknowledged before, sums that add up', async () => {
  const dataDir = tempDirectory()
  const child = startChild(join(import.meta.dirname, 'children', 'keep-busy.ts'), dataDir)
  await child.says('settled')
  const copies = tempDirectory()
  for (const name of ['one', 'two', 'three']) {
    const before = acknowledged(child.printed)
    const copy = join(copies, name)
    copyFile(join(dataDir, DATABASE_FILE), copy, { answers: false })
    const { audit, integrityFindings } = await examineCopy(copy)
    expect(integrityFindings).toEqual([])
    expect(audit).toMatchObject({ found: 0 })
    const inCopy = known(copy)
    expect(before.filter((one) => !inCopy.has(one))).toEqual([])
    const inSource = known(join(dataDir, DATABASE_FILE))
    expect([...inCopy].filter((one) => !inSource.has(one))).toEqual([])
    // The next copy shall be of a later moment.
    const count = acknowledged(child.printed).length
    while (acknowledged(child.printed).length === count) await Bun.sleep(1)
  }
  await child.kill()
  expect(known(join(copies, 'three')).size).toBeGreaterThan(known(join(copies, 'one')).size)
  expect(readdirSync(copies).toSorted()).toEqual(['one', 'three', 'two'])
})

test('kept answers stay behind, to the last word', async () => {
  const dataDir = await furnished()
  const path = join(dataDir, DATABASE_FILE)
  const database = new Database(path)
  const { id } = database.query('SELECT id FROM keys').get() as { id: string }
  const insert = database.query(
    `INSERT INTO answers (key_id, idempotency_key, body_sha256, generation_id, content_type, bytes, created_at, whole)
     VALUES (?, 'again', 'x', ?, 'text/plain', 6, 0, 1)`,
  )
  insert.run(id, newGenerationId(clock.now()))
  database
    .query('INSERT INTO answer_pieces SELECT id, 0, ? FROM answers')
    .run(Buffer.from('canary-word '.repeat(9_000)))
  database.close(true)
  const copy = join(tempDirectory(), 'copy.db')
  copyFile(path, copy, { answers: false })
  expect(await Bun.file(copy).text()).not.toContain('canary-word')
  expect((await examineCopy(copy)).integrityFindings).toEqual([])
  copyFile(path, copy, { answers: true })
  expect(await Bun.file(copy).text()).toContain('canary-word')
})

test('a source that is not a database creates no copy', () => {
  const directory = tempDirectory()
  const source = join(directory, 'source')
  writeFileSync(source, 'not a database, whatever it is called'.repeat(500))
  const copy = join(directory, 'copy.db')
  expect(() => copyFile(source, copy, { answers: true })).toThrow()
  expect(readdirSync(directory)).toEqual(['source'])
})

test('what was there is kept aside whole, with what still lay in its log', async () => {
  const dataDir = await furnished()
  const path = join(dataDir, DATABASE_FILE)
  const backup = join(tempDirectory(), 'backup.db')
  copyFile(path, backup, { answers: false })
  // A killed server: its last commits are in the log alone.
  const killed = tempDirectory()
  const store = await openStore({ dataDir, clock })
  await store.ledger.credit(aTopUp(clock.now(), usd('5'), { ref: 'late' }), anAct())
  for (const end of ['', '-wal']) copyFileSync(path + end, join(killed, DATABASE_FILE + end))
  await store.close()
  expect(statSync(join(killed, `${DATABASE_FILE}-wal`)).size).toBeGreaterThan(0)

  const target = join(killed, DATABASE_FILE)
  expect(replaceDatabase(target, backup, `${target}.aside`)).toBe(true)
  expect(known(target).has('late')).toBe(false)
  expect(known(`${target}.aside`).has('late')).toBe(true)
  const restored = await openStore({ dataDir: killed, clock })
  expect(await restored.audit()).toMatchObject({ found: 0, entries: 1 })
  await restored.close()
})

test('a damaged database makes way too, and an empty directory takes a copy in', async () => {
  const dataDir = await furnished()
  const backup = join(tempDirectory(), 'backup.db')
  copyFile(join(dataDir, DATABASE_FILE), backup, { answers: false })
  const broken = join(tempDirectory(), DATABASE_FILE)
  writeFileSync(broken, 'broken')
  expect(replaceDatabase(broken, backup, `${broken}.aside`)).toBe(true)
  expect(known(broken).size).toBe(1)
  expect(await Bun.file(`${broken}.aside`).text()).toBe('broken')
  const empty = join(tempDirectory(), 'data')
  mkdirSync(empty)
  expect(replaceDatabase(join(empty, DATABASE_FILE), backup, join(empty, 'aside'))).toBe(false)
  expect(readdirSync(empty)).toEqual([DATABASE_FILE])
})

test('a copy is examined without being changed: strangers and later schemas are refused, wrong sums found', async () => {
  const dataDir = await furnished()
  const copy = join(tempDirectory(), 'copy.db')
  copyFile(join(dataDir, DATABASE_FILE), copy, { answers: false })
  expect(await examineCopy(copy)).toEqual({
    schemaVersion: NEWEST_SCHEMA_VERSION,
    integrityFindings: [],
    audit: { entries: 1, found: 0 },
  })
  const change = (sql: string) => {
    const database = new Database(copy)
    database.run(sql)
    database.close(true)
  }
  change('UPDATE accounts SET balance_nanos = balance_nanos + 1')
  expect((await examineCopy(copy)).audit).toEqual({ entries: 1, found: 1 })
  change(`PRAGMA user_version = ${NEWEST_SCHEMA_VERSION + 1}`)
  await expect(examineCopy(copy)).rejects.toThrow(
    `this database is schema ${NEWEST_SCHEMA_VERSION + 1}`,
  )
  const other = join(tempDirectory(), 'other.db')
  new Database(other).run('CREATE TABLE recipes (name TEXT)')
  await expect(examineCopy(other)).rejects.toThrow('is no database of a gateway')
  writeFileSync(other, 'nothing of the kind')
  await expect(examineCopy(other)).rejects.toThrow('is no database of a gateway')
})

test('before a migration the database is copied beside itself, whole, in the place of what an earlier upgrade left', () => {
  const path = join(tempDirectory(), DATABASE_FILE)
  const database = new Database(path, { strict: true })
  for (const sql of MIGRATIONS.slice(0, 8)) database.run(sql)
  database.run('PRAGMA user_version = 8')
  database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acct_1', 'a', 0)")
  const beside = `${path}.pre-migrate-8`
  writeFileSync(beside, 'half of an earlier one')
  migrate(database, path)
  expect(schemaVersion(database)).toBe(NEWEST_SCHEMA_VERSION)
  const copy = new Database(beside, { readonly: true })
  expect(schemaVersion(copy)).toBe(8)
  expect(copy.query('SELECT name FROM accounts').all()).toEqual([{ name: 'a' }])
  expect(existsSync(`${beside}-wal`)).toBe(false)
})
