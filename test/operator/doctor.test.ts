/** What doctor asks of the world around the store: backups, addresses, disks, clocks. */

import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DAY_MS, type Instant, renderInstant } from '#domain/clock.ts'
import { type AccountId, newEventId } from '#domain/id.ts'
import { NO_MONEY } from '#domain/money.ts'
import { draftNotices } from '#domain/notice.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { SHIPPED_PRICES_AT } from '#operator/catalog.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { checkAddresses, judgeFreeSpace } from '#operator/doctor/host.ts'
import { anAct } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

const findings = async (deps: Parameters<typeof act>[0], check: string) =>
  (await act(deps, 'doctor', {})).findings.filter((finding) => finding.check === check)

function fresh(path: string): string {
  writeFileSync(path, '')
  return path
}

const onDisk = (deps: TestOperatorDeps) => ({ ...deps, dataDir: tempDirectory() })

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

test('a check that throws is named, with its reason, and the others run', async () => {
  const deps = await openFurnished()
  const hops = () => {
    throw new Error('no hop is known')
  }
  const live = { baseUrl: 'http://127.0.0.1:4140/v1', authUrl: null, pid: 7, hops }
  const broken = { ...deps, live: live as unknown as OperatorDeps['live'] }
  const failed = await findings(broken, 'check_failed')
  expect(failed).toContainEqual({
    check: 'check_failed',
    level: 'problem',
    message:
      'the check of routes could not run: no hop is known; if it stays so, report it as a bug',
    next: 'gatewayctl doctor',
  })
  expect(failed.at(-1)?.message).toMatch(/^the check of processes could not run/)
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
  [4_000, 0.09, 'warning', /: less than a tenth, and than 5000 MB$/],
  [255, 0.5, 'problem', /: less than 256 MB$/],
  [0, 0, 'problem', /: less than 256 MB$/],
])('%i MB free, %d of the disk: %s', (megabytes, share, level, why = /data lies$/) => {
  const message = expect.stringMatching(why)
  expect(judgeFreeSpace('/data', megabytes * 1_000_000, share)).toMatchObject({ level, message })
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

test('a backup that is missing, or older than a week, is a warning', async () => {
  const deps = onDisk(await openFurnished())
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

test('a gateway without a model is no gateway whose models all have a price', async () => {
  const deps = await openFurnished()
  await act(deps, 'providers.remove', { name: 'demo' })
  expect(await findings(deps, 'prices')).toMatchObject([
    { level: 'warning', message: 'there is no model' },
  ])
})

test('a price is looked at once a year: set again, or found the same by a refresh', async () => {
  const deps = await openFurnished()
  await act(deps, 'providers.add', { name: 'acme', base_url: 'http://h', credential: null })
  for (const model of ['acme/one', 'acme/two', 'acme/raw']) {
    await act(deps, 'models.add', {
      model,
      ...(model !== 'acme/raw' && { in_usd: '1', out_usd: '2' }),
    })
  }
  expect(await findings(deps, 'prices')).toMatchObject([
    {
      level: 'warning',
      message: expect.stringMatching(/^1 of \d+ models have no price, .*: acme\/raw$/),
    },
  ])
  expect(await findings(deps, 'old_prices')).toEqual([])
  deps.clock.advance(366 * DAY_MS)
  expect(await findings(deps, 'old_prices')).toMatchObject([
    {
      level: 'warning',
      message: expect.stringMatching(/^2 of \d+ .* older than a year: acme\/one, acme\/two$/),
      next: 'gatewayctl models refresh --from FILE --dry-run',
    },
  ])
  const [facts, same] = [
    { served_by: 'acme', name: 'M' },
    { input: '1', output: '2' },
  ]
  const entries = [
    {
      ...facts,
      model: 'two',
      input: ['text'],
      output: ['text'],
      features: [],
      usd_per_million: same,
    },
  ] as never
  const { plan } = await act(deps, 'models.refresh.plan', { entries })
  await act(deps, 'models.refresh', { entries, plan })
  expect(await findings(deps, 'old_prices')).toMatchObject([
    { message: expect.stringMatching(/^1 of .*: acme\/one$/) },
  ])
})

test('the shipped catalog confirms no price once its own are older than a year', async () => {
  expect(readFileSync('docs/catalog.md', 'utf8')).toContain(
    `prices are of ${renderInstant(SHIPPED_PRICES_AT).slice(0, 10)}:`,
  )
  const deps = await openFurnished()
  await act(deps, 'providers.add', { name: 'anthropic', credential: 'sk-ant-x' })
  deps.clock.advance(366 * DAY_MS)
  const before = await findings(deps, 'old_prices')
  const { plan, confirmed } = await act(deps, 'models.refresh.plan', {})
  expect(confirmed).not.toEqual([])
  await act(deps, 'models.refresh', { plan })
  expect(before).toHaveLength(1)
  expect(await findings(deps, 'old_prices')).toEqual(before)
})

describe('codes of people who sign in', () => {
  const failing = (reason: string, isOfMail = false) => ({
    at: Date.UTC(2026, 7, 23, 12) as Instant,
    reason,
    isOfMail,
  })
  const open = async (smtp: boolean, failure: ReturnType<typeof failing> | null = null) => {
    const deps = onDisk(await openFurnished())
    const live = { authUrl: 'https://auth.example', codeMailFailure: () => failure }
    const served = {
      ...live,
      baseUrl: '',
      hops: () => [],
      paces: () => [],
      credentials: () => [],
      pid: 7,
    } as unknown as OperatorDeps['live']
    return { ...deps, delivery: { ...deps.delivery, smtp }, live: served }
  }
  const wiki = { name: 'Wiki', redirect_uris: ['https://wiki.example/cb'] }

  test('with an address that does not fit the others is told of', async () => {
    const deps = await openFurnished()
    const { client_id } = await act(deps, 'clients.create', { ...wiki, public: true })
    const logoutUris = ['org.example.wiki:/out']
    await deps.store.signin.clients.amend(client_id, { logoutUris }, anAct())
    expect(await findings(deps, 'clients')).toMatchObject([
      { level: 'warning', message: expect.stringContaining('does not use org.example.wiki:/out') },
    ])
    expect(await act(deps, 'clients.show', { client: client_id })).toMatchObject({
      warnings: [expect.stringContaining('org.example.wiki:/out is not used')],
    })
  })

  test("are nobody's worry without an application", async () => {
    expect(await findings(await open(false), 'sign-in')).toMatchObject([
      { level: 'ok', message: 'no application signs people in' },
    ])
  })

  test.each([
    [
      false,
      null,
      'problem',
      'nobody can sign in: there is no mail server (GATEWAY_SMTP_URL), and no identity provider',
    ],
    [true, null, 'ok', 'a mail server is set for sign-in codes'],
    [
      true,
      failing('refused'),
      'problem',
      'sign-in codes cannot be mailed: refused (2026-08-23T12:00:00Z)',
    ],
    [
      true,
      failing('status 550', true),
      'warning',
      'the mail server rejected the last sign-in code (status 550, 2026-08-23T12:00:00Z)',
    ],
  ])('with a mail server: %s, failure: %j', async (smtp, failure, level, message) => {
    const deps = await open(smtp, failure)
    await act(deps, 'clients.create', wiki)
    expect(await findings(deps, 'sign-in')).toMatchObject([{ level, message }])
  })

  test('anybody may ask for them, unless sign-up is closed or there is no application', async () => {
    const deps = await open(true)
    const signup = (isOpen: boolean) => {
      const live = { ...deps.live, signup: isOpen ? 'open' : [] } as OperatorDeps['live']
      return findings({ ...deps, live }, 'sign-up')
    }
    expect(await signup(true)).toEqual([])
    await act(deps, 'clients.create', wiki)
    expect(await signup(true)).toMatchObject([
      { level: 'warning', message: expect.stringContaining('auth_signup is open') },
    ])
    expect(await signup(false)).toEqual([])
    await act(deps, 'clients.edit', { client: wiki.name, allowed: ['staff', '@example.org'] })
    expect(await signup(true)).toEqual([])
    await act(deps, 'clients.create', { ...wiki, name: 'docs' })
    const [one] = await signup(true)
    expect(one).toMatchObject({ message: expect.stringMatching(/sign in to docs_\w+ \(/) })
  })

  test('need a host name and https where people are to have passkeys', async () => {
    const deps = await open(true)
    const passkeys = (authUrl: string, policy?: 'off' | 'required') => {
      const live = { ...deps.live, authUrl, passkeys: policy } as OperatorDeps['live']
      return findings({ ...deps, live }, 'passkeys')
    }
    expect(await passkeys('http://127.0.0.1:4141')).toMatchObject([{ level: 'ok' }])
    await act(deps, 'clients.create', wiki)
    for (const url of ['http://127.0.0.1:4141', 'http://auth.example.org', 'https://192.0.2.7']) {
      expect(await passkeys(url)).toMatchObject([
        { level: 'warning', message: expect.stringContaining(`no passkeys at ${url}`) },
      ])
      expect(await passkeys(url, 'off')).toMatchObject([{ level: 'ok' }])
    }
    for (const url of ['https://auth.example.org', 'http://localhost:4141']) {
      expect(await passkeys(url)).toMatchObject([{ level: 'ok' }])
    }
  })

  test('are for nobody where no group that an application is open to has anybody', async () => {
    const deps = await open(true)
    await act(deps, 'clients.create', { ...wiki, allowed: ['staff'] })
    expect(await findings(deps, 'access')).toMatchObject([
      { level: 'warning', next: 'gatewayctl groups add staff EMAIL' },
    ])
    await act(deps, 'groups.add', { group: 'staff', people: ['ann@example.org'] })
    expect(await findings(deps, 'access')).toEqual([])
  })

  test('are not sent by a gateway that does not listen for sign-in', async () => {
    const deps = await open(true)
    await act(deps, 'clients.create', wiki)
    const live = { ...deps.live, authUrl: null } as OperatorDeps['live']
    expect(await findings({ ...deps, live }, 'sign-in')).toMatchObject([{ level: 'warning' }])
  })

  test('may be sent by a gateway that does not run now', async () => {
    const deps = { ...(await open(false)), live: null }
    await act(deps, 'clients.create', wiki)
    expect(await findings(deps, 'sign-in')).toMatchObject([{ level: 'warning' }])
  })
})

test('a notice that could not be delivered is reported, until one was', async () => {
  const deps = await openFurnished()
  await act(deps, 'thresholds.set', { threshold_usd: '1', webhook_url: 'https://ops.example/hook' })
  expect(await findings(deps, 'threshold')).toMatchObject([{ level: 'ok' }])
  const [account] = await deps.store.accounts.list()
  const post = async (state: 'dead' | 'delivered') => {
    deps.clock.advance(1_000)
    const at = deps.clock.now()
    const [notice] = draftNotices(
      {
        eventId: newEventId(at),
        accountId: account?.id as AccountId,
        at,
        balance: NO_MONEY,
        below: NO_MONEY,
        rubPerUsd: DEFAULT_RUB_PER_USD,
      },
      ['webhook'],
    )
    if (notice === undefined) throw new Error('there is no notice')
    await deps.store.notices.post([notice], anAct())
    const attempt = { at, status: null, failure: state === 'dead' ? 'refused' : null, ms: 1 }
    await deps.store.notices.tried(notice.eventId, 'webhook', attempt, { state, nextTryAt: null })
    return notice.eventId
  }
  const lost = await post('dead')
  expect(await findings(deps, 'threshold')).toMatchObject([
    {
      level: 'warning',
      message: 'the last notice of account default could not be delivered by webhook',
      next: `gatewayctl deliveries show ${lost}`,
    },
  ])
  await post('delivered')
  expect(await findings(deps, 'threshold')).toMatchObject([{ level: 'ok' }])
})
