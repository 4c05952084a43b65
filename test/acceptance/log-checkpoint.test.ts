// The compiled binary folds the write-ahead log beside its requests, long before a commit would have to wait for it.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

/** A commit writes some twelve pages, and a thousand are worth a fold. */
const COMMITS = 200

const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  gateway = await startAppliance(furnishCli(cli))
})
afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

test('a thousand pages are folded within a moment, while it serves', async () => {
  const { key } = await gateway.verb('keys.create', { name: 'busy' })
  // Commits go to the log; only a fold writes the database itself.
  const database = join(cli.dataDir, 'gateway.db')
  const before = statSync(database).mtimeMs
  for (let n = 0; n < COMMITS; n++) {
    const answer = await gateway.chat(key, {
      model: 'demo/echo',
      messages: [{ role: 'user', content: 'hello' }],
    })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
  }
  await until(() => statSync(database).mtimeMs > before, 'the log is folded')
})
