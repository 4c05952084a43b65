// The write-ahead log is folded on a thread of its own: soon, without a commit doing it, and the file is whole when it closes.
import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { DATABASE_FILE } from '#db/file-name.ts'
import { openStore } from '#db/index.ts'
import { type LogCheckpointer, startLogCheckpointer } from '#db/sqlite/engine/log-checkpoint.ts'
import { openDatabase } from '#db/sqlite/engine/open.ts'
import { systemClock } from '#domain/clock.ts'
import { anAccount, anAct } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

let path: string
let database: Database
let fold: LogCheckpointer

beforeEach(async () => {
  path = join(tempDirectory(), DATABASE_FILE)
  database = openDatabase(path)
  onTestFinished(() => database.close())
  database.run('CREATE TABLE rows (n INTEGER PRIMARY KEY, body BLOB)')
  fold = await startLogCheckpointer(database, path)
})

/** A page of the log or more for each row. */
function commit(rows: number): void {
  database.run(
    `WITH RECURSIVE some (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM some WHERE n < ${rows})
     INSERT INTO rows (body) SELECT zeroblob(3000) FROM some`,
  )
  fold.dirty()
}

const log = () =>
  database
    .query<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(NOOP)')
    .get() ?? { log: -1, checkpointed: -1 }

const soon = (condition: () => void) => vi.waitFor(condition, { interval: 5, timeout: 10_000 })

test('what a commit would fold by itself, the thread does soon after; a little waits for more', async () => {
  commit(2_000)
  expect(log()).toMatchObject({ checkpointed: 0 })
  await soon(() => expect(log().checkpointed).toBeGreaterThanOrEqual(2_000))
  // From here on the log begins anew.
  commit(10)
  const { log: pages } = log()
  expect(pages).toBeLessThan(100)
  commit(1_000)
  await soon(() => expect(log().checkpointed).toBeGreaterThanOrEqual(1_000))
  await fold.close()
})

test('one that never rests begins anew all the same, long before a commit would fold it', async () => {
  let longest = 0
  let isAnew = false
  for (let n = 0; n < 4_000 && !isAnew; n++) {
    commit(20)
    const { log: pages } = log()
    isAnew = pages < longest
    longest = Math.max(longest, pages)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await fold.close()
  expect(isAnew).toBe(true)
  expect(longest).toBeLessThan(24_000)
})

test('with the thread gone commits fold, later than they used to', async () => {
  await fold.close()
  commit(22_000)
  expect(log()).toMatchObject({ checkpointed: 0 })
  commit(3_000)
  expect(log().checkpointed).toBeGreaterThan(24_000)
})

test('closed, even in the middle, it leaves one whole file', async () => {
  commit(3_000)
  await soon(() => expect(log().checkpointed).toBeGreaterThan(0))
  commit(3_000)
  await fold.close()
  database.close(true)
  expect(existsSync(`${path}-wal`)).toBe(false)
  const copy = new Database(path, { readonly: true })
  expect(copy.query('SELECT count(*) AS n FROM rows').get()).toEqual({ n: 6_000 })
  expect(copy.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  copy.close(true)
})

test('a file that it cannot open does not prevent closing', async () => {
  const lost = await startLogCheckpointer(database, join(tempDirectory(), 'none.db'))
  lost.dirty()
  await new Promise((resolve) => setTimeout(resolve, 150))
  await lost.close()
  await fold.close()
})

test('a store that serves closes as any other', async () => {
  const dataDir = tempDirectory()
  const store = await openStore({ dataDir, clock: systemClock, serves: true })
  await store.accounts.create(anAccount(), anAct())
  await store.close()
  expect(existsSync(join(dataDir, `${DATABASE_FILE}-wal`))).toBe(false)
  await fold.close()
})
