/** What doctor asks of the world around the store: backups, addresses, disks, clocks. */
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DAY_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_MONEY } from '#domain/money.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { checkAddresses, judgeFreeSpace } from '#operator/doctor/host.ts'
import { aCharge, aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

const findings = async (deps: Parameters<typeof act>[0], check: string) =>
  (await act(deps, 'doctor', {})).findings.filter((finding) => finding.check === check)

function fresh(path: string): string {
  writeFileSync(path, '')
  return path
}

const onDisk = (deps: TestOperatorDeps) => ({ ...deps, dataDir: tempDirectory() })

async function charge({ store, clock }: TestOperatorDeps): Promise<void> {
  const claim = aClaim((await store.keys.search('default', 1))[0] as ApiKey, clock.now(), NO_MONEY)
  await store.admissions.admit(claim)
  const done = { charge: aCharge(usd('0.01')), activity: anActivity(claim) }
  await store.admissions.settle(claim.generationId, { at: clock.now(), ...done })
}

test('says which program answers, and where the gateway is', async () => {
  const deps = await openFurnished()
  expect(await findings(deps, 'program')).toMatchObject([
    {
      level: 'ok',
      message: expect.stringMatching(/^gatewayctl v0\.0\.0-test \w+-\w+, no gateway running$/),
    },
  ])
  expect(await findings(deps, 'address')).toEqual([])
})

test.each([
  ['http://127.0.0.1:4140/v1', null, []],
  ['http://localhost:4140/v1', 'http://[::1]:4141', []],
  ['https://gateway.example/v1', 'https://auth.example', []],
  [
    'http://gateway.example/v1',
    null,
    [
      'base_url is http://gateway.example/v1, http:// on a public address: keys travel in clear text',
    ],
  ],
  [
    'http://10.0.0.7:4140/v1',
    'http://10.0.0.7:4141',
    [
      'base_url is http://10.0.0.7:4140/v1, http:// on a public address: keys travel in clear text',
      'auth_url is http://10.0.0.7:4141, http:// on a public address: codes and sessions travel in clear text',
    ],
  ],
])('served as %s, signed in at %s', async (baseUrl, authUrl, worries) => {
  const deps = await openFurnished()
  const live = { baseUrl, authUrl, pid: 7, hops: () => [] } as unknown as OperatorDeps['live']
  const found = (await checkAddresses({ ...deps, live })).filter(({ level }) => level === 'warning')
  expect(found.map(({ message }) => message)).toEqual(worries)
})

test.each([
  [50_000, 0.5, 'ok'],
  [50_000, 0.02, 'ok'],
  [4_000, 0.5, 'ok'],
  [4_000, 0.09, 'warning'],
  [255, 0.5, 'problem'],
  [0, 0, 'problem'],
])('%i MB free, %d of the disk: %s', (megabytes, share, level) => {
  expect(judgeFreeSpace('/data', megabytes * 1_000_000, share)).toMatchObject({ level })
})

test('a WAL that is not checkpointed is reported', async () => {
  const deps = onDisk(await openFurnished())
  expect(await findings(deps, 'disk')).toHaveLength(1)
  expect(await findings(deps, 'log-size')).toEqual([])
  truncateSync(fresh(join(deps.dataDir, 'gateway.db-wal')), 65_000_000)
  expect(await findings(deps, 'log-size')).toMatchObject([
    { level: 'warning', message: 'the log of the database has grown to 65 MB' },
  ])
})

test.each([
  [200, 'ok', 'clock within 0.2 s of what acme says'],
  [-4_900, 'ok', 'clock within 4.9 s of what acme says'],
  [90_000, 'warning', 'the clock is 90.0 s behind what acme says'],
  [-7_000, 'warning', 'the clock is 7.0 s ahead of what acme says'],
])('a provider that is %i ms off', async (skewMs, level, message) => {
  const deps = await openFurnished()
  expect(await findings(deps, 'clock')).toEqual([])
  const probe = { ...deps.probe, lastSkew: () => ({ provider: 'acme', skewMs }) }
  expect(await findings({ ...deps, probe }, 'clock')).toMatchObject([{ level, message }])
})

test('no backup worries nobody before there were charges for a day, then and after a week it does', async () => {
  const deps = onDisk(await openFurnished())
  expect(await findings(deps, 'backup')).toMatchObject([{ level: 'ok', message: 'no backup yet' }])
  await act(deps, 'balance.top-up', { amount_usd: '1' })
  await charge(deps)
  expect(await findings(deps, 'backup')).toMatchObject([{ level: 'ok' }])
  deps.clock.advance(DAY_MS + 1)
  expect(await findings(deps, 'backup')).toMatchObject([
    { level: 'warning', message: 'no backup has been taken', next: 'gatewayctl backup --verify' },
  ])
  const taken_at = '2026-08-23T12:00:00Z'
  await act(deps, 'backup', { file: '/b.db', size_bytes: 1, taken_at })
  expect(await findings(deps, 'backup')).toMatchObject([{ message: 'last backup today' }])
  deps.clock.advance(7 * DAY_MS)
  expect(await findings(deps, 'backup')).toMatchObject([{ level: 'ok' }])
  deps.clock.advance(2 * DAY_MS)
  expect(await findings(deps, 'backup')).toMatchObject([
    { level: 'warning', message: 'no backup in 9 days' },
  ])
})
