/** A database page overwritten with garbage: nothing is bought on the basis of it, and doctor reports it. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  readDatabase,
  startAppliance,
} from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { FULL } from '#test/support/tier.ts'
import { HELLO, startProvider } from './provider.ts'

const PAGE_BYTES = 4_096
let provider: ReturnType<typeof startProvider>
let cli: CliHarness
let gateway: Appliance
let key: string

/** Runs once, stops cleanly, so that all data is in one file, and is backed up. */
async function open(): Promise<void> {
  cli = furnishCli(openCli())
  provider = startProvider()
  gateway = await startAppliance(cli)
  await provider.addTo(gateway)
  key = (await gateway.verb('keys.create', { name: 'worker', rpm_limit: 100 })).key
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
  expect(await gateway.stop()).toBe(0)
  expect(cli.run(['backup', join(cli.home, 'backup.db')]).code).toBe(0)
}

afterEach(async () => {
  await gateway.kill()
  await provider.stop()
  cli.close()
})

/** The number of a table's first page. */
function ruin(table: string): void {
  const [root] = readDatabase<{ rootpage: number }>(
    cli,
    'SELECT rootpage FROM sqlite_schema WHERE name = ?',
    table,
  )
  overwrite(root?.rootpage ?? 0)
}

function overwrite(page: number): void {
  const file = openSync(join(cli.dataDir, 'gateway.db'), 'r+')
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
  closeSync(file)
}

/** The recovery that doctor describes. */
async function restore(): Promise<void> {
  const restored = cli.run([
    'backup',
    '--restore',
    join(cli.home, 'backup.db'),
    '--confirm',
    'gateway.db',
  ])
  expect([restored.code, restored.err]).toEqual([0, expect.any(String)])
  gateway = await startAppliance(cli)
  expect((await gateway.chat(key, HELLO)).status).toBe(200)
  expect(cli.run(['audit']).code).toBe(0)
  expect(cli.run(['doctor']).code).toBe(0)
}

test.each(FULL ? ['ledger', 'activity'] : ['ledger'])(
  'a corrupt page that a charge is written to (%s): requests are refused, and no provider is called',
  async (table) => {
    await open()
    ruin(table)
    gateway = await startAppliance(cli)
    // Requests that start before the damage is found cannot be charged, so they get no answer; after that none is started.
    const first = await gateway.chat(key, HELLO)
    expect(first.status).toBe(503)
    const before = provider.asked
    const statuses = []
    for (let n = 0; n < 3; n++) statuses.push((await gateway.chat(key, HELLO)).status)
    expect([provider.asked, statuses]).toEqual([before, [503, 503, 503]])
    await expectIllness(table)
  },
)

const JUDGED_BY = [
  'keys',
  'holds',
  'key_secrets',
  'key_secrets_by_key',
  'key_days',
  'resting_key_days',
  'window_slots',
]

test.each(FULL ? JUDGED_BY : JUDGED_BY.slice(0, 2))(
  'a corrupt page that requests are judged by (%s): the gateway does not start, and doctor says why',
  async (table) => {
    await open()
    ruin(table)
    if (table === 'keys' || table === 'holds') expectNoList()
    await expectNoStart()
  },
)

test('a first page that is not a database page: the gateway does not start, and doctor says why', async () => {
  await open()
  overwrite(1)
  expectNoList()
  await expectNoStart()
})

/** What reads a table's page, and whether a gateway that has read it caches it. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  ledger: ['ledger', 'list'],
  activity: ['activity', 'list'],
}

/** The failure is not that no server runs: exit 1, and 6 from the commands that report the gateway's state. */
function expectSameExit(table: string, isServed: boolean): void {
  const reader = READERS[table]
  if (reader === undefined) return
  const refused = cli.run([...reader, '--json'])
  expect([refused.code, refused.out]).toEqual([1, ''])
  expect(JSON.parse(refused.err)).toMatchObject({
    error: { code: 'store_unavailable', exit_code: 1, hint: 'gatewayctl doctor' },
  })
  const { code } = cli.run(['status', '-q'])
  expect(code).toBe(isServed ? 6 : 4)
}

/** Doctor reports it, whether the gateway runs or not, and the backup restores the data. */
async function expectIllness(table: string): Promise<void> {
  expectSameExit(table, true)
  const ill = cli.run(['doctor'])
  expect([ill.code, ill.out]).toEqual([6, expect.stringContaining('✖ the database is damaged')])
  expect(ill.out).toContain('gatewayctl backup --restore FILE')
  expect(await gateway.stop()).toBe(0)
  expectSameExit(table, false)
  const still = cli.run(['doctor'])
  expect([still.code, still.out]).toEqual([6, expect.stringContaining('✖ the database is damaged')])
  await restore()
}

/** The failure is not that no server runs. */
function expectNoList(): void {
  const { code, err } = cli.run(['keys', 'list'])
  expect([code, err]).toEqual([1, expect.stringContaining('database is damaged')])
}

async function expectNoStart(): Promise<void> {
  const refused = cli.run(['serve', '--listen', '127.0.0.1:0'])
  expect([refused.code, refused.err]).toEqual([6, expect.stringContaining('database is damaged')])
  expect(cli.run(['status', '-q'])).toEqual({ code: 4, out: '', err: '' })
  const ill = cli.run(['doctor'])
  expect([ill.code, ill.out]).toEqual([6, expect.stringMatching(/✖ .*database is damaged/)])
  await restore()
}
