/** A database that is moved, removed or replaced under a running gateway: requests and changes are refused until it is back. */
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'
import { HELLO, startProvider } from './provider.ts'

const provider = startProvider()
let cli: CliHarness
let gateway: Appliance
let key: string

beforeEach(async () => {
  cli = furnishCli(openCli())
  gateway = await startAppliance(cli)
  await provider.addTo(gateway)
  key = (await gateway.verb('keys.create', { name: 'worker' })).key
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
})

afterEach(async () => {
  await gateway.kill()
  cli.close()
})

afterAll(() => provider.stop())

const isReady = async (): Promise<boolean> => (await fetch(`${gateway.url}/readyz`)).status === 200

async function expectRefusal(): Promise<void> {
  await until(async () => !(await isReady()), 'it is not ready', 3_000)
  const before = provider.asked
  const refused = await gateway.chat(key, HELLO)
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    {
      error: {
        code: 'store_unavailable',
        message:
          "the gateway's database was moved, removed or replaced; nothing was taken or charged",
      },
    },
  ])
  expect(provider.asked).toBe(before)
}

async function expectService(): Promise<void> {
  await until(isReady, 'it is ready again', 3_000)
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
  expect(cli.run(['audit']).code).toBe(0)
}

const FILES = ['gateway.db', 'gateway.db-wal', 'gateway.db-shm', 'lock.db']

test.each(FULL ? FILES : FILES.slice(0, 2))('%s, renamed and put back', async (name) => {
  const path = join(cli.dataDir, name)
  renameSync(path, `${path}.aside`)
  await expectRefusal()
  const change = cli.run(['balance', 'top-up', '5'])
  expect([change.code, change.err]).toEqual([4, expect.stringContaining('was moved, removed')])
  const ill = cli.run(['doctor'])
  expect([ill.code, ill.out]).toEqual([
    6,
    expect.stringContaining(
      '✖ the gateway refuses requests: a file of its database was moved, removed or replaced',
    ),
  ])
  expect(cli.run(['status', '-q']).code).toBe(6)
  renameSync(`${path}.aside`, path)
  await expectService()
  expect(cli.run(['doctor']).code).toBe(0)
})

test('another database in its place', async () => {
  const path = join(cli.dataDir, 'gateway.db')
  copyFileSync(path, `${path}.other`)
  renameSync(path, `${path}.aside`)
  renameSync(`${path}.other`, path)
  await expectRefusal()
  expect(cli.run(['doctor']).code).toBe(6)
  renameSync(`${path}.aside`, path)
  await expectService()
})

test('the whole directory', async () => {
  renameSync(cli.dataDir, `${cli.dataDir}.aside`)
  await expectRefusal()
  renameSync(`${cli.dataDir}.aside`, cli.dataDir)
  await expectService()
})
