/** Limits as an application meets them: refused in time, told what to wait for, served again as soon as they lift. */
import { RateLimitError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  nanos,
  priced,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { readSse } from '#test/support/read-sse.ts'
import { oks, startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'

const answer = { kind: 'chat', promptTokens: 100, completionTokens: 20, chunks: oks(10) } as const
const upstream = await startSyntheticUpstream({ acme: answer, slow: { ...answer, gapMs: 40 } })
const cli = openCli()
let gateway: Appliance

const CHARGE = priced([100, '1'], [20, '2'])
const hello = { model: 'acme/m', messages: [{ role: 'user' as const, content: 'hi' }] }

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
  await addModel('acme')
  await addModel('slow')
})

afterAll(async () => {
  await gateway?.kill()
  await upstream.stop()
  cli.close()
})

async function addModel(name: 'acme' | 'slow'): Promise<void> {
  await gateway.verb('providers.add', {
    name,
    type: 'openai-compatible',
    base_url: upstream.baseUrls[name],
    credential: null,
  })
  await gateway.verb('models.add', { model: `${name}/m`, in_usd: '1', out_usd: '2' })
}

interface Refusal {
  readonly error: { readonly metadata: { readonly resets_at: string } }
  readonly request_id: string
}

const RATE = ['Limit', 'Remaining', 'Reset'].flatMap((part) =>
  ['Minute', 'Day'].map((span) => `X-RateLimit-${part}-${span}`),
)

const rateOf = ({ headers }: Response) =>
  Object.fromEntries(RATE.map((name) => [name.slice('X-RateLimit-'.length), headers.get(name)]))

/** Seconds that a window's oldest request still has, rounded up: between the clocks before and after it. */
const within = (least: number, most: number) =>
  expect.toSatisfy(
    (text: string) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
  )

describe('requests a minute', () => {
  test('the sixth of five is refused until the first is a minute old', async () => {
    const { key } = await gateway.verb('keys.create', { name: 'five', rpm_limit: 5 })
    const beforeMs = Date.now()
    expect((await gateway.chat(key, hello)).status).toBe(200)
    const afterMs = Date.now()
    for (let i = 0; i < 4; i++) expect((await gateway.chat(key, hello)).status).toBe(200)
    // Some way into the minute, so that the wait is no round number by chance.
    await until(() => Date.now() - afterMs > 1_200, 'a second has passed')

    const sentMs = Date.now()
    const refused = await gateway.chat(key, hello)
    const gotMs = Date.now()
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(Math.ceil((beforeMs + 60_000 - gotMs) / 1000))
    expect(seconds).toBeLessThanOrEqual(Math.ceil((afterMs + 60_000 - sentMs) / 1000))
    expect(seconds).toBeLessThan(60)
    // The SDK waits a minute by itself.
    expect(refused.headers.get('x-should-retry')).toBeNull()
    const { error, request_id: id } = (await refused.json()) as Refusal
    expect(error).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      param: null,
      metadata: { limit: 'rpm_limit', limit_value: 5, used: 5 },
    })
    expect(id).toBe(refused.headers.get('x-request-id'))
    const resets = Date.parse(error.metadata.resets_at)
    expect(resets).toBeGreaterThanOrEqual(beforeMs + 60_000)
    expect(resets).toBeLessThanOrEqual(afterMs + 60_000)
    expect(rateOf(refused)).toMatchObject({
      'Limit-Minute': '5',
      'Remaining-Minute': '0',
      'Reset-Minute': String(seconds),
    })
    // A refusal takes no slot and is told by its type.
    await expect(gateway.client(key).chat.completions.create(hello)).rejects.toThrow(RateLimitError)
    const info = await fetch(`${gateway.url}/v1/key`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(await info.json()).toMatchObject({ usage: { requests_minute: 5 } })
  })
})

describe('the six headers', () => {
  test('are exact on answers, streams and errors, and nothing but a chat takes a slot', async () => {
    const { key } = await gateway.verb('keys.create', {
      name: 'headed',
      rpm_limit: 10,
      rpd_limit: 30,
      allowed_models: ['acme/*', 'none/*'],
    })
    const expected = (taken: number) => ({
      'Limit-Minute': '10',
      'Remaining-Minute': String(10 - taken),
      'Reset-Minute': taken === 0 ? '0' : within(55, 60),
      'Limit-Day': '30',
      'Remaining-Day': String(30 - taken),
      'Reset-Day': taken === 0 ? '0' : within(86_395, 86_400),
    })
    const headers = { authorization: `Bearer ${key}` }
    const check = async (sent: Promise<Response>, status: number, taken: number) => {
      const response = await sent
      expect([response.status, rateOf(response)]).toEqual([status, expected(taken)])
      const exposed = response.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toEqual(expect.arrayContaining(RATE))
      return response
    }
    await check(fetch(`${gateway.url}/v1/models`, { headers }), 200, 0)
    await check(gateway.chat(key, hello), 200, 1)
    const stream = await check(gateway.chat(key, { ...hello, stream: true }), 200, 2)
    expect(readSse(await stream.text()).done).toBe(true)
    await check(gateway.chat(key, { ...hello, messages: 7 }), 400, 2)
    await check(gateway.chat(key, { ...hello, modalities: ['image'], stream: true }), 400, 2)
    await check(gateway.chat(key, { ...hello, model: 'slow/m' }), 403, 2)
    await check(gateway.chat(key, { ...hello, model: 'none/m' }), 404, 2)
    await check(fetch(`${gateway.url}/v1/models/none/m`, { headers }), 404, 2)
    await check(fetch(`${gateway.url}/v1/key`, { headers }), 200, 2)
    await check(gateway.chat(key, hello), 200, 3)
  })

  test('of a window without a limit are not there', async () => {
    const { key } = await gateway.verb('keys.create', { name: 'daily', rpd_limit: 3 })
    expect(rateOf(await gateway.chat(key, hello))).toEqual({
      'Limit-Minute': null,
      'Remaining-Minute': null,
      'Reset-Minute': null,
      'Limit-Day': '3',
      'Remaining-Day': '2',
      'Reset-Day': '86400',
    })
    const { key: free } = await gateway.verb('keys.create', { name: 'free' })
    const none = Object.values(rateOf(await gateway.chat(free, hello)))
    expect(none).toEqual([null, null, null, null, null, null])
  })
})

describe('requests a day', () => {
  test('a wait of a day is not one that a client should sleep through', async () => {
    const { key, id } = await gateway.verb('keys.create', { name: 'once', rpd_limit: 1 })
    const client = gateway.client(key, { maxRetries: 2 })
    await client.chat.completions.create(hello)
    const error = await client.chat.completions.create(hello).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error.error).toMatchObject({
      code: 'rate_limit_exceeded',
      metadata: { limit: 'rpd_limit', limit_value: 1, used: 1 },
    })
    expect(error.headers.get('x-should-retry')).toBe('false')
    expect(error.headers.get('retry-after')).toEqual(within(86_395, 86_400))
    // The SDK obeyed: it was asked twice in all, by us.
    const lines = () =>
      gateway
        .said()
        .split('\n')
        .filter((line) => line.includes(id))
    await until(() => lines().length >= 2, 'both are logged')
    expect(lines().map((line) => JSON.parse(line).status)).toEqual([200, 429])
  })
})

describe('requests at a time', () => {
  test('a third of two is refused, and served as soon as one ends', async () => {
    const { key } = await gateway.verb('keys.create', { name: 'pair', concurrency_limit: 2 })
    const slow = { ...hello, model: 'slow/m', stream: true }
    const running = await Promise.all([gateway.chat(key, slow), gateway.chat(key, slow)])
    const refused = await gateway.chat(key, hello)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.headers.get('x-should-retry')).toBeNull()
    expect(await refused.json()).toMatchObject({
      error: {
        type: 'rate_limit_error',
        code: 'concurrency_limit_exceeded',
        metadata: { limit: 'concurrency_limit', limit_value: 2, used: 2, resets_at: null },
      },
    })
    const [first] = await Promise.all(running.map((response) => response.text()))
    expect(readSse(first ?? '').done).toBe(true)
    expect((await gateway.chat(key, hello)).status).toBe(200)
  })
})

const nextMidnight = (): string => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1))
    .toISOString()
    .replace('.000Z', 'Z')
}
const nextMonth = (): string => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
    .toISOString()
    .replace('.000Z', 'Z')
}

describe('money', () => {
  test.each([
    ['daily_spend_limit', '--daily-usd', nextMidnight],
    ['monthly_spend_limit', '--monthly-usd', nextMonth],
  ])(
    'T23: a %s: the request that crosses it completes, the next is refused, a higher one lifts it',
    async (limit, flag, resets) => {
      const name = `spends-${limit}`
      const { key } = await gateway.verb('keys.create', { name, [`${limit}_usd`]: '0.000139' })
      const crossing = await gateway.chat(key, { ...hello, stream: true })
      const { done, chunks } = readSse(await crossing.text())
      expect([crossing.status, done]).toEqual([200, true])
      expect(chunks.at(-1)?.usage).toMatchObject({ cost: Number(CHARGE) / 1e9 })

      for (const stream of [false, true]) {
        const refused = await gateway.chat(key, { ...hello, stream })
        expect(refused.status).toBe(402)
        expect(refused.headers.get('retry-after')).toBeNull()
        expect(refused.headers.get('x-should-retry')).toBe('false')
        const { error } = (await refused.json()) as Refusal
        expect(error).toMatchObject({
          type: 'insufficient_quota',
          code: `${limit}_exceeded`,
          param: null,
          metadata: { limit: `${limit}_usd`, limit_value: '0.000139', used: '0.00014' },
        })
        expect(error.metadata.resets_at).toBe(resets())
      }
      const { code } = cli.run(['limits', 'set', name, flag, '0.01'])
      expect(code).toBe(0)
      expect((await gateway.chat(key, hello)).status).toBe(200)
    },
  )

  test('an empty account is refused until it is topped up', async () => {
    const { key } = await gateway.verb('keys.create', { name: 'poor' })
    const poor = openCli()
    furnishCli(poor, '0.0001')
    const small = await startAppliance(poor)
    try {
      await small.verb('providers.add', {
        name: 'acme',
        type: 'openai-compatible',
        base_url: upstream.baseUrls.acme,
        credential: null,
      })
      await small.verb('models.add', { model: 'acme/m', in_usd: '1', out_usd: '2' })
      const own = await small.verb('keys.create', { name: 'own' })
      expect((await small.chat(key, hello)).status).toBe(401)
      expect((await small.chat(own.key, hello)).status).toBe(200)
      const refused = await small.chat(own.key, hello)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([402, null])
      expect(await refused.json()).toMatchObject({
        error: {
          code: 'insufficient_balance',
          metadata: { limit: 'balance_usd', limit_value: '-0.00004', used: '0' },
        },
      })
      expect(poor.run(['balance', 'top-up', '1']).code).toBe(0)
      expect((await small.chat(own.key, hello)).status).toBe(200)
      const { balance_usd: left } = poor.json<{ balance_usd: string }>(['balance'])
      expect(nanos(left)).toBe(nanos('1.0001') - 2n * CHARGE)
    } finally {
      await small.kill()
      poor.close()
    }
  })
})
