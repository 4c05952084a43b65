// A key’s limits for each of its end users: which requests they refuse, and how the key’s information shows them.
import { expect, onTestFinished, test } from 'vitest'
import type { Limits } from '#domain/limits.ts'
import { JsonBody } from '#http/read/body.ts'
import { readMessagesRequest } from '#http/surfaces/messages/read-request.ts'
import { furnish, handClock, hello, openApi, usd } from '#test/support/furnish.ts'

const NOON = Date.parse('2026-08-22T12:00:00Z')

async function open(limits: Partial<Limits>) {
  const clock = handClock(NOON)
  const deps = await furnish({ clock })
  onTestFinished(() => deps.store.close())
  const { bearer } = await deps.issue(limits)
  const { chat, get } = openApi(deps)
  /** As this end user, or without naming one. */
  const ask = async (user: string | undefined, headers = {}) => {
    const response = await chat(
      { ...bearer, ...headers },
      hello(user === undefined ? {} : { user }),
    )
    return response
  }
  const statusOf = async (user?: string) => (await ask(user)).status
  return { clock, ask, statusOf, key: () => get('/v1/key', bearer) }
}

test.each<[string, Partial<Limits>, number, number]>([
  ['requests a minute', { endUserRpm: 1 }, 429, 60_000],
  ['spend a day', { endUserDailySpend: usd('0.000001') }, 402, 12 * 3_600_000],
])(
  '%s: one end user is refused until the limit lifts, all others are served',
  async (_, limits, status, ms) => {
    const { clock, statusOf } = await open(limits)
    expect([await statusOf('ann'), await statusOf('ann')]).toEqual([200, status])
    expect(await statusOf('bob')).toBe(200)
    // Names are compared exactly as written.
    expect(await statusOf('Ann')).toBe(200)
    // A request that names no end user is limited by the key alone.
    expect([await statusOf(), await statusOf(), await statusOf('')]).toEqual([200, 200, 200])
    clock.advance(ms - 1)
    expect(await statusOf('ann')).toBe(status)
    clock.advance(1)
    expect(await statusOf('ann')).toBe(200)
  },
)

test.each(['w\0', 'w\ud800', 'w\udc01'])(
  'what a store may have no text with tells no end users apart: %j',
  async (name) => {
    const { statusOf } = await open({ endUserRpm: 1 })
    expect([await statusOf(name), await statusOf('w\ufffd')]).toEqual([200, 429])
  },
)

test.each(['w\0', 'w\ud800', JSON.stringify({ account_uuid: 'w\0' })])(
  'nor does it in the Messages API: %j',
  (user_id) => {
    const fields = { ...hello(), max_tokens: 9, metadata: { user_id } }
    const read = readMessagesRequest(new JsonBody(JSON.stringify(fields)), new Headers())
    expect(read.endUser).toBe('w\ufffd')
  },
)

test('a refused end user uses no slot of the key, and the rate headers are the key’s', async () => {
  const { ask } = await open({ rpm: 10, endUserRpm: 1 })
  const remaining = async (user: string) =>
    (await ask(user)).headers.get('x-ratelimit-remaining-minute')
  expect([await remaining('ann'), await remaining('ann'), await remaining('bob')]).toEqual([
    '9',
    '9',
    '8',
  ])
})

test('the key’s information shows its end-user limits', async () => {
  const { key } = await open({ endUserRpm: 6, endUserDailySpend: usd('0.5') })
  expect(await (await key()).json()).toMatchObject({
    limits: { rpm_limit: null, end_user_rpm: 6, end_user_daily_usd: '0.50' },
    remaining: { minute: null, daily_spend_usd: null },
  })
})

test('a dry run applies them and uses none of them', async () => {
  const { ask } = await open({ endUserRpm: 1 })
  const quote = async (user: string) =>
    (await ask(user, { 'x-gateway-dry-run': 'true' })).json() as Promise<unknown>
  expect(await quote('ann')).toMatchObject({ admitted: true })
  expect((await ask('ann')).status).toBe(200)
  expect(await quote('ann')).toMatchObject({
    admitted: false,
    error: { code: 'rate_limit_exceeded', metadata: { limit: 'end_user_rpm' } },
  })
  expect(await quote('bob')).toMatchObject({ admitted: true })
})
