/** Init, status and doctor: what they make, what they say, and what they find when something is wrong. */

import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import type { KeyId } from '#domain/id.ts'
import { fixedCost } from '#domain/offer-cost.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { admitClaim } from '#test/support/admit.ts'
import { providersOf } from '#test/support/catalogue.ts'
import { restingWatch } from '#test/support/resting-watch.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { act, openFurnished, openOperator, serving } from './deps.ts'

const findings = async (deps: OperatorDeps, level: string) =>
  (await act(deps, 'doctor', {})).findings
    .filter((finding) => finding.level === level)
    .map(({ check }) => check)

describe('init', () => {
  test('makes an account, the demo and a first key; again it makes nothing', async () => {
    const deps = await openOperator()
    const first = await act(deps, 'init', { demo_credit_usd: '10' })
    expect(first).toMatchObject({
      account: 'default',
      balance_usd: '10.00',
      created: ['account', 'provider', 'credit', 'key'],
      key: { name: 'default', key: expect.stringMatching(/^if-/) },
    })
    const again = await act(deps, 'init', { demo_credit_usd: '10' })
    expect(again).toMatchObject({ balance_usd: '10.00', created: [], key: null })
  })

  test('a demo that was removed stays removed while there is another provider', async () => {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { name: 'acme', base_url: 'http://h', credential: null })
    await act(deps, 'providers.remove', { name: 'demo' })
    expect((await act(deps, 'init', {})).created).toEqual([])
    expect((await act(deps, 'models.list', {})).map(({ id }) => id)).toEqual([])
  })
})

test('status tells a running server from a store that a command opened', async () => {
  const deps = await openFurnished()
  expect(await act(deps, 'status', {})).toMatchObject({
    running: false,
    healthy: true,
    base_url: null,
    keys: 1,
    accounts: [{ name: 'default', balance_usd: '0' }],
    rate_set_by_operator: false,
  })
  const startedAt = deps.clock.now()
  deps.clock.advance(90_500)
  const live = serving({ pid: 7, startedAt })
  expect(
    await act({ ...deps, live, watch: { ...restingWatch(), count: () => 3 } }, 'status', {}),
  ).toMatchObject({
    running: true,
    pid: 7,
    uptime_seconds: 90,
    in_flight: 3,
    base_url: 'http://h:1/v1',
  })
})

test('status tells when the last backup was taken, where there is something to lose', async () => {
  const memory = await openFurnished()
  const deps = { ...memory, dataDir: '/var/lib/gatewayctl' }
  expect((await act(deps, 'status', {})).last_backup_at).toBe(null)
  const taken_at = '2026-08-23T11:59:58Z'
  await act(deps, 'backup', { file: '/b.db', size_bytes: 1, taken_at })
  expect(await act(deps, 'status', {})).toMatchObject({ last_backup_at: '2026-08-23T12:00:00Z' })
  // Who asks for the exit code alone has nothing looked up, and memory is nobody's to copy.
  expect((await act(deps, 'status', { warnings: false })).last_backup_at).toBe(null)
  expect((await act(memory, 'status', {})).last_backup_at).toBe(null)
})

describe('doctor', () => {
  test('a fresh gateway has no problem, and the rate to decide', async () => {
    const deps = await openFurnished()
    expect(await act(deps, 'doctor', {})).toMatchObject({ problems: 0, warnings: 1 })
    expect(await findings(deps, 'warning')).toEqual(['rate'])
    await act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd: '90' })
    expect(await findings(deps, 'warning')).toEqual([])
  })

  test('finds masks that match nothing and models without a price', async () => {
    const deps = await openFurnished()
    await act(deps, 'keys.create', { name: 'lost', allowed_models: ['acme/*', 'demo/echo'] })
    await act(deps, 'models.add', { model: 'demo/raw' })
    expect(await findings(deps, 'warning')).toEqual(['rate', 'prices', 'masks'])
  })

  test('finds a hold that outlived its server', async () => {
    const deps = await openFurnished()
    await act(deps, 'balance.top-up', { amount_usd: '5' })
    const { id } = await act(deps, 'keys.show', { key: 'default' })
    const account = await deps.store.accounts.findByName('default')
    if (!account) throw new Error('init made no account')
    const verdict = await admitClaim(deps.store.admissions, {
      generationId: 'gen-x',
      endUser: null,
      surface: 'chat',
      session: null,
      requestId: 'req-x',
      owner: deps.store.owner,
      repeat: null,
      keyId: id as KeyId,
      accountId: account.id,
      at: deps.clock.now(),
      model: 'demo/echo',
      offers: [fixedCost(1n as never)],
      catalogue: deps.store.catalogue.current().version,
    })
    expect(verdict.admitted).toBe(true)
    expect(await findings(deps, 'problem')).toEqual(['holds'])
    const live = serving({ startedAt: deps.clock.now() })
    expect(await findings({ ...deps, live }, 'problem')).toEqual([])
  })

  test('finds a balance that is not the sum of its ledger, files others may read, a foreign master key or none', async () => {
    const dataDir = tempDirectory()
    chmodSync(dataDir, 0o700)
    const open = async (key: number | null): Promise<OperatorDeps> => {
      const { clock, demoKit, delivery, probe, who } = await openOperator()
      const masterKey = key === null ? null : new Uint8Array(32).fill(key)
      const store = await openStore({ dataDir, clock, masterKey })
      return { store, clock, demoKit, delivery, probe, who, version: '0', dataDir, live: null }
    }
    const umask = process.umask(0o077)
    onTestFinished(() => void process.umask(umask))

    const before = await open(1)
    await act(before, 'init', { demo_credit_usd: '5' })
    await act(before, 'providers.add', { name: 'acme', base_url: 'http://h', credential: 'sk-x' })
    await act(before, 'thresholds.set', { threshold_usd: '1', webhook_url: 'https://h/' })
    expect(await findings(before, 'problem')).toEqual([])
    await before.store.close()

    const database = new Database(join(dataDir, 'gateway.db'))
    database.run('UPDATE accounts SET balance_nanos = balance_nanos + 1')
    database.close()
    chmodSync(join(dataDir, 'gateway.db'), 0o644)

    const after = await open(2)
    expect(await findings(after, 'problem')).toEqual(['ledger', 'files', 'provider', 'threshold'])
    const examined = await act(after, 'doctor', {})
    expect(examined.findings.find(({ check }) => check === 'provider')).toMatchObject({
      message: 'the credential of provider acme cannot be read with this master key',
      next: 'gatewayctl providers edit acme --key-file -',
    })
    await after.store.close()

    const keyless = await open(null)
    onTestFinished(() => keyless.store.close())
    const { findings: unread } = await act(keyless, 'doctor', {})
    const keylessOnes = unread.filter(({ message }) => message.includes('no master key here'))
    expect(keylessOnes.map(({ check, level }) => [check, level])).toEqual([
      ['provider', 'problem'],
      ['threshold', 'problem'],
    ])
    // Nothing is to be replaced that may only lack its key.
    for (const { next } of keylessOnes) expect(next).toMatch(/^start the gateway if it is given/)
  })

  test('asks nobody to replace a credential that a damaged page hides', async () => {
    const dataDir = tempDirectory()
    const { clock, demoKit, delivery, probe, who } = await openOperator()
    const store = await openStore({ dataDir, clock, masterKey: new Uint8Array(32).fill(1) })
    onTestFinished(() => store.close())
    const rest = { demoKit, delivery, probe, who, version: '0', live: null }
    const deps: OperatorDeps = { store, clock, dataDir, ...rest }
    await act(deps, 'providers.add', { name: 'acme', base_url: 'http://h', credential: 'sk-x' })
    providersOf(store)

    const database = new Database(join(dataDir, 'gateway.db'), { strict: true })
    const { page } = database
      .query("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'credentials'")
      .get() as { page: number }
    // By another process: the gateway's own pages in memory are void.
    database.run('PRAGMA user_version = 0')
    database.run(`PRAGMA user_version = ${MIGRATIONS.length}`)
    database.run('PRAGMA wal_checkpoint(FULL)')
    database.close()
    const file = openSync(join(dataDir, 'gateway.db'), 'r+')
    writeSync(file, Buffer.alloc(4_096, 0xa5), 0, 4_096, (page - 1) * 4_096)
    closeSync(file)

    const { findings: found } = await act(deps, 'doctor', {})
    expect(found.map(({ message }) => message).join('\n')).toMatch(/database is damaged/)
    expect(found.filter(({ message }) => message.includes('credential'))).toEqual([])
  })
})
