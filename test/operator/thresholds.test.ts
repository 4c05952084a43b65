/** Thresholds and deliveries through their verbs: what is set, what is shown once, what is refused, what is sent again. */
import { describe, expect, test } from 'vitest'
import type { EventId } from '#domain/id.ts'
import type { Channel, Notice } from '#domain/notice.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { act, openFurnished, serving, type TestOperatorDeps } from './deps.ts'

const HOOK = 'https://ops.example.org/hook'
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

const secretOf = async ({ store }: OperatorDeps) => {
  const account = await store.accounts.findByName('default')
  return account && (await store.thresholds.webhookSecret(account.id))
}

/** What a courier would say of one try. */
async function note(
  { store, clock }: OperatorDeps,
  event: string,
  channel: Channel,
  failure?: string,
) {
  const attempt = { at: clock.now(), status: failure ? 503 : 204, failure: failure ?? null, ms: 12 }
  const then = failure
    ? { state: 'pending' as const, nextTryAt: clock.now() }
    : { state: 'delivered' as const, nextTryAt: null }
  await store.notices.tried(event as EventId, channel, attempt, then)
}

describe('a threshold', () => {
  test('is set field by field; absent fields stay unchanged', async () => {
    const deps = await openFurnished()
    const nothing = { threshold_usd: null, email: null, webhook_url: null }
    const unmarked = { marked: false, notified_at: null }
    expect(await act(deps, 'thresholds.show', {})).toEqual({
      account: 'default',
      balance_usd: '0',
      ...nothing,
      ...unmarked,
    })
    const email = 'ops+gw@example.org'
    expect(await act(deps, 'thresholds.set', { email })).toMatchObject({
      ...nothing,
      email,
      previous: { ...nothing, ...unmarked },
      webhook_secret: null,
    })
    await act(deps, 'thresholds.set', { webhook_url: HOOK })
    await act(deps, 'balance.top-up', { amount_usd: '20' })
    const all = { threshold_usd: '20.00', email, webhook_url: HOOK, ...unmarked }
    expect(await act(deps, 'thresholds.set', { threshold_usd: '20' })).toMatchObject(all)
    expect(await act(deps, 'thresholds.show', {})).toMatchObject(all)
    expect(await act(deps, 'thresholds.set', { email: null })).toMatchObject({
      ...all,
      email: null,
      previous: { email },
    })
  })

  test('above the balance tells at once, and says so', async () => {
    const deps = await openFurnished()
    const record = await act(deps, 'thresholds.set', { threshold_usd: '5', webhook_url: HOOK })
    expect(record).toMatchObject({ marked: true, notified_at: '2026-08-23T12:00:00Z' })
    expect(await act(deps, 'deliveries.list', {})).toMatchObject([
      { channel: 'webhook', test: false, state: 'pending', tries: 0 },
    ])
  })

  test.each([
    [{ threshold_usd: '5' }, 'nobody will be notified: neither an e-mail nor a webhook is set'],
    [{ webhook_url: HOOK }, 'no threshold is set, so no notice will be sent'],
    [{ threshold_usd: '5', email: 'a@b.example' }, 'no mail server is known (GATEWAY_SMTP_URL)'],
  ])('%j warns', async (input, warning) => {
    const deps = await openFurnished()
    expect((await act(deps, 'thresholds.set', input)).warnings).toEqual([warning])
  })

  test('that reaches somebody warns of nothing', async () => {
    const furnished = await openFurnished()
    const deps = { ...furnished, delivery: { ...furnished.delivery, smtp: true } }
    const input = { threshold_usd: '5', email: 'a@b.example', webhook_url: HOOK }
    expect((await act(deps, 'thresholds.set', input)).warnings).toEqual([])
  })

  test.each(['-1', '1e1', '0.0000000001', 'all'])('of %j is refused', async (threshold_usd) => {
    const deps = await openFurnished()
    await expect(act(deps, 'thresholds.set', { threshold_usd })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'threshold_usd' },
    })
  })
})

describe('the secret of a webhook', () => {
  test('is made with the first address, kept with the next, and gone with it', async () => {
    const deps = await openFurnished()
    const set = (webhook_url: string | null) => act(deps, 'thresholds.set', { webhook_url })
    const { webhook_secret: first } = await set(HOOK)
    expect(first).toMatch(SECRET)
    expect(await secretOf(deps)).toBe(first)
    expect((await set('https://elsewhere.example/')).webhook_secret).toBeNull()
    expect(await secretOf(deps)).toBe(first)
    expect((await set(null)).webhook_secret).toBeNull()
    expect(await secretOf(deps)).toBeNull()
    expect((await set(HOOK)).webhook_secret).toMatch(SECRET)
    expect(await secretOf(deps)).not.toBe(first)
  })

  test('is changed when asked, and only where there is a webhook', async () => {
    const deps = await openFurnished()
    await expect(act(deps, 'thresholds.set', { rotate_secret: true })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    const input = { webhook_url: HOOK, rotate_secret: true }
    const { webhook_secret: first } = await act(deps, 'thresholds.set', input)
    const { webhook_secret: second } = await act(deps, 'thresholds.set', { rotate_secret: true })
    expect(second).toMatch(SECRET)
    expect(second).not.toBe(first)
    expect(await secretOf(deps)).toBe(second)
  })

  test('is shown by no other verb', async () => {
    const deps = await openFurnished()
    const input = { threshold_usd: '5', webhook_url: HOOK }
    const { webhook_secret: secret } = await act(deps, 'thresholds.set', input)
    const shown = [
      await act(deps, 'thresholds.show', {}),
      await act(deps, 'thresholds.set', { threshold_usd: '6' }),
      await act(deps, 'accounts.show', { name: 'default' }),
      await act(deps, 'status', {}),
      await act(deps, 'doctor', {}),
      await act(deps, 'deliveries.list', {}),
    ]
    expect(secret).toMatch(SECRET)
    expect(JSON.stringify(shown)).not.toContain('whsec_')
  })
})

describe('an address', () => {
  const set = async (input: object, loopbackWebhooks = false) => {
    const deps = await openFurnished()
    const delivery = { smtp: true, loopbackWebhooks }
    return await act({ ...deps, delivery }, 'thresholds.set', input)
  }

  test.each([
    'https://ops.example.org/hook?x=1',
    'https://ops.example.org:8443/',
    `https://ops.example.org/${'a'.repeat(2_000)}`,
  ])('for webhooks may be %s', async (webhook_url) => {
    expect(await set({ webhook_url })).toMatchObject({ webhook_url })
  })

  test.each([
    'http://ops.example.org/hook',
    'http://127.0.0.1:9/hook',
    'ftp://ops.example.org/',
    'https:ops.example.org/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'ops.example.org/hook',
    'https://user@ops.example.org/',
    'https://:word@ops.example.org/',
    'https://ops.example.org/#x',
    'https://',
    '',
    `https://ops.example.org/${'a'.repeat(2_048)}`,
  ])('for webhooks may not be %s', async (webhook_url) => {
    await expect(set({ webhook_url })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'webhook_url' },
    })
  })

  test.each(['http://127.0.0.1:9/hook', 'http://[::1]:9/', 'http://localhost/', 'http://127.1/'])(
    'for webhooks may be %s where the operator allows it',
    async (webhook_url) => {
      const record = await set({ webhook_url }, true)
      expect(record.webhook_url).toBe(new URL(webhook_url).href)
    },
  )

  test.each([
    'http://ops.example.org/',
    'http://127.0.0.1.example.org/',
    'http://10.0.0.1/',
    'http://localhost.example.org/',
  ])('for webhooks may not be %s even then', async (webhook_url) => {
    await expect(set({ webhook_url }, true)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test.each(['ops@example.org', 'o.p-s+x@mail.example.org', 'ops@localhost', 'почта@пример.рф'])(
    'for mail may be %s',
    async (email) => {
      expect(await set({ email })).toMatchObject({ email })
    },
  )

  test.each([
    '',
    'ops',
    '@example.org',
    'ops@',
    'ops@example..org',
    'ops@-example.org',
    '.ops@example.org',
    'o ps@example.org',
    'ops@example.org\r\nBcc: other@example.org',
    'ops@example.org, other@example.org',
    'Ops <ops@example.org>',
    '"ops"@example.org',
    'a@b@example.org',
    'ops@example.org\u0000',
    `${'a'.repeat(65)}@example.org`,
    `ops@${'a.'.repeat(130)}org`,
  ])('for mail may not be %j', async (email) => {
    await expect(set({ email })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'email' },
    })
  })
})

describe('a test', () => {
  const openSet = async (input: object): Promise<TestOperatorDeps> => {
    const deps = await openFurnished()
    await act(deps, 'thresholds.set', input)
    return deps
  }

  test('goes wherever an address is set, in one event that says what it is', async () => {
    const deps = await openSet({ email: 'ops@example.org', webhook_url: HOOK })
    await act(deps, 'balance.top-up', { amount_usd: '3' })
    const record = await act(deps, 'thresholds.test', {})
    expect(record).toEqual({
      event_id: expect.stringMatching(/^evt_/),
      channels: ['email', 'webhook'],
      running: false,
    })
    const event = await act(deps, 'deliveries.show', { event: record.event_id })
    // As a narrow terminal lists it.
    const shown = `evt_…${record.event_id.slice(-6)}`
    expect(await act(deps, 'deliveries.show', { event: shown })).toEqual(event)
    for (const none of ['evt_…000000', record.event_id.slice(-6)])
      await expect(act(deps, 'deliveries.show', { event: none })).rejects.toMatchObject({
        code: 'notice_not_found',
      })
    const due = { state: 'pending', tries: 0, next_try_at: '2026-08-23T12:00:00Z', log: [] }
    expect(event).toMatchObject({
      event_id: record.event_id,
      type: 'gateway.low_balance',
      test: true,
      body: {
        test: true,
        id: record.event_id,
        data: { account_id: event.account_id, balance_usd: '3.00', threshold_usd: '0' },
      },
      channels: [
        { channel: 'email', ...due },
        { channel: 'webhook', ...due },
      ],
    })
    // It is no crossing.
    expect(await act(deps, 'thresholds.show', {})).toMatchObject({ marked: false })
  })

  test('goes where it is told to, and knows whether a gateway will send it', async () => {
    const deps = await openSet({ email: 'ops@example.org', webhook_url: HOOK })
    const running = { ...deps, live: serving({ startedAt: deps.clock.now() }) }
    expect(await act(running, 'thresholds.test', { channel: 'webhook' })).toMatchObject({
      channels: ['webhook'],
      running: true,
    })
    expect(await act(deps, 'deliveries.list', {})).toMatchObject([{ channel: 'webhook' }])
  })

  test.each([
    [{}, 'neither an e-mail nor a webhook is set for account default'],
    [{ channel: 'email' }, 'no e-mail is set for account default'],
    [{ channel: 'webhook' }, 'no webhook is set for account default'],
  ] as const)('of %j without an address is refused', async (input, message) => {
    const deps = await openFurnished()
    await expect(act(deps, 'thresholds.test', input)).rejects.toMatchObject({
      code: 'invalid_request',
      message,
    })
    expect(await act(deps, 'deliveries.list', {})).toEqual([])
  })
})

describe('deliveries', () => {
  test('are shown with every try, and listed by state', async () => {
    const deps = await openFurnished()
    const where = { threshold_usd: '5', email: 'ops@example.org', webhook_url: HOOK }
    await act(deps, 'thresholds.set', where)
    const [delivery] = await act(deps, 'deliveries.list', { limit: 1 })
    const event = delivery?.event_id ?? ''
    await note(deps, event, 'webhook', 'status')
    deps.clock.advance(5_000)
    await note(deps, event, 'webhook')
    const { channels } = await act(deps, 'deliveries.show', { event })
    expect(channels[0]).toMatchObject({ channel: 'email', state: 'pending', log: [] })
    expect(channels[1]).toMatchObject({
      channel: 'webhook',
      state: 'delivered',
      tries: 2,
      next_try_at: null,
      log: [
        { at: '2026-08-23T12:00:00Z', status: 503, failure: 'status', ms: 12 },
        { at: '2026-08-23T12:00:05Z', status: 204, failure: null, ms: 12 },
      ],
    })
    const by = async (state: Notice['state']) =>
      (await act(deps, 'deliveries.list', { state })).map(({ channel }) => channel)
    expect([await by('pending'), await by('delivered'), await by('dead')]).toEqual([
      ['email'],
      ['webhook'],
      [],
    ])
  })

  test('are sent again where they have not arrived, else everywhere, or where it is said', async () => {
    const deps = await openFurnished()
    const where = { threshold_usd: '5', email: 'ops@example.org', webhook_url: HOOK }
    await act(deps, 'thresholds.set', where)
    const event = (await act(deps, 'deliveries.list', {}))[0]?.event_id ?? ''
    const body = async () => (await act(deps, 'deliveries.show', { event })).body
    const before = await body()
    await note(deps, event, 'webhook')
    const again = (channel?: Channel) =>
      act(deps, 'deliveries.redeliver', channel ? { event, channel } : { event })
    expect((await again()).channels).toEqual(['email'])
    await note(deps, event, 'email')
    expect((await again('webhook')).channels).toEqual(['webhook'])
    await note(deps, event, 'webhook')
    deps.clock.advance(1_000)
    expect(await again()).toEqual({
      event_id: event,
      channels: ['email', 'webhook'],
      running: false,
    })
    const due = { state: 'pending', tries: 0, next_try_at: '2026-08-23T12:00:01Z' }
    const { channels } = await act(deps, 'deliveries.show', { event })
    expect(channels).toMatchObject([
      { ...due, log: [{}] },
      { ...due, log: [{}, {}] },
    ])
    expect(await body()).toEqual(before)
    await act(deps, 'thresholds.set', { webhook_url: null })
    expect((await again()).channels).toEqual(['email'])
    await expect(again('webhook')).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('that never were are not found', async () => {
    const deps = await openFurnished()
    for (const name of ['deliveries.show', 'deliveries.redeliver'] as const) {
      await expect(act(deps, name, { event: 'evt_x' })).rejects.toMatchObject({
        code: 'notice_not_found',
      })
    }
  })

  test('of one account are not listed with another’s', async () => {
    const deps = await openFurnished()
    await act(deps, 'accounts.create', { name: 'acme' })
    await act(deps, 'thresholds.set', { account: 'acme', threshold_usd: '5', webhook_url: HOOK })
    expect(await act(deps, 'deliveries.list', {})).toEqual([])
    expect(await act(deps, 'deliveries.list', { account: 'acme' })).toHaveLength(1)
  })
})

describe('status and doctor', () => {
  test('say at which balance the owner is told, and that it was', async () => {
    const deps = await openFurnished()
    await act(deps, 'accounts.create', { name: 'acme' })
    await act(deps, 'accounts.members.add', { email: 'ann@example.org', role: 'owner' })
    await act(deps, 'accounts.members.add', { email: 'bob@example.org', role: 'viewer' })
    await act(deps, 'thresholds.set', { threshold_usd: '5', webhook_url: HOOK })
    expect((await act(deps, 'status', {})).accounts).toEqual([
      {
        name: 'default',
        balance_usd: '0',
        runway: { seconds: null, mean_day_usd: '0', days: 0 },
        threshold_usd: '5.00',
        marked: true,
        notified_at: '2026-08-23T12:00:00Z',
        owners: ['ann@example.org'],
      },
      {
        name: 'acme',
        balance_usd: '0',
        runway: { seconds: null, mean_day_usd: '0', days: 0 },
        threshold_usd: null,
        marked: false,
        notified_at: null,
        owners: [],
      },
    ])
  })

  test('find accounts whose owner would not be notified', async () => {
    const deps = await openFurnished()
    const findings = async (smtp = false) =>
      (await act({ ...deps, delivery: { ...deps.delivery, smtp } }, 'doctor', {})).findings
        .filter(({ check }) => check === 'threshold')
        .map(({ level, message }) => `${level}: ${message}`)
    expect(await findings()).toEqual(['ok: no low-balance threshold is set'])
    await act(deps, 'thresholds.set', { threshold_usd: '5' })
    expect(await findings()).toEqual([
      'warning: account default has a threshold, but no e-mail or webhook for its notice',
    ])
    await act(deps, 'thresholds.set', { email: 'ops@example.org' })
    expect(await findings()).toEqual([
      'warning: account default has an e-mail for notices, but no mail server is set (GATEWAY_SMTP_URL)',
    ])
    expect(await findings(true)).toEqual(['ok: account default: below $5.00 notifies by email'])
  })
})
