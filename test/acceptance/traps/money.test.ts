/** Money and limits: absurd token counts, missing counts, and edits while requests run. */
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VerbInput } from '#operator/verbs.ts'
import { nanos, openHolds } from '#test/support/appliance.ts'
import { readSse } from '#test/support/read-sse.ts'
import { hello, openScriptedGateway, type ScriptedGateway, say } from './scripted-gateway.ts'

let setup: ScriptedGateway
beforeAll(async () => {
  setup = await openScriptedGateway()
})
afterAll(() => setup?.close())

/** The cost of demo/echo for "hi": one input token at $1 and one output token at $2 a million. */
const CHARGE = nanos('0.000003')

/** The result of a request: "200", or its status and code. */
async function outcome(sent: Promise<Response>): Promise<string> {
  const response = await sent
  const text = await response.text()
  return response.ok ? '200' : `${response.status} ${JSON.parse(text).error.code}`
}

const count = (outcomes: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set(outcomes)].map((one) => [one, outcomes.filter((other) => other === one).length]),
  )

/** A key of its own account with this balance. */
async function openAccount(
  name: string,
  dollars: string,
  fields: Partial<VerbInput<'keys.create'>> = {},
) {
  await setup.gateway.verb('accounts.create', { name })
  await setup.gateway.verb('balance.top-up', { account: name, amount_usd: dollars })
  return await setup.gateway.verb('keys.create', { name, account: name, ...fields })
}

async function chargesOf(key: string, account = 'default'): Promise<readonly bigint[]> {
  const wish = { key, account, kind: 'charge', limit: 1_000 } as const
  const entries = await setup.gateway.verb('ledger.list', wish)
  return entries.map(({ amount_usd: amount }) => -nanos(amount))
}

const balanceOf = async (account: string): Promise<bigint> =>
  nanos((await setup.gateway.verb('balance.show', { account })).balance_usd)

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n)

describe('T16: a token count', () => {
  const ZERO = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  beforeAll(async () => {
    await setup.provide('zero', (response, { body }) => say(response, body['stream'], ZERO))
    await setup.provide('mute', (response, { body }) => say(response, body['stream']))
    await setup.provide('blank', (response, { body }) => say(response, body['stream'], null))
    await setup.provide('half', (response, { body }) =>
      say(response, body['stream'], { prompt_tokens: 70 }),
    )
    for (const name of ['zero', 'mute', 'blank', 'half']) await setup.addModel(`${name}/m`)
  })

  /** The charge, and where its count comes from. */
  async function priceOf(model: string, stream: boolean) {
    const { key, id } = await setup.gateway.verb('keys.create', { name: model })
    const response = await setup.gateway.chat(key, hello({ model, stream }))
    const text = await response.text()
    const usage = stream ? readSse(text).chunks.at(-1)?.usage : JSON.parse(text).usage
    return { source: usage.cost_details.source, charges: await chargesOf(id) }
  }

  test.each(['mute/m', 'blank/m', 'zero/m'])(
    'that is missing, or zero beside an answer, is estimated, never zero: %s',
    async (model) => {
      for (const stream of [false, true]) {
        const { source, charges } = await priceOf(model, stream)
        expect(source).toBe('estimated')
        // Nineteen bytes of output are five tokens, in addition to the prompt.
        expect(charges).toHaveLength(1)
        expect(charges[0]).toBeGreaterThan(5n * 2_000n)
      }
    },
  )

  test.each([false, true])(
    'of the prompt alone is completed by an estimate of the output (stream: %j)',
    async (stream) => {
      const { source, charges } = await priceOf('half/m', stream)
      expect({ source, charges }).toEqual({ source: 'estimated', charges: [70_000n + 10_000n] })
    },
  )
})

/** Counts that no provider should send. */
const ABSURD: Readonly<Record<string, unknown>> = {
  negative: { prompt_tokens: -1_000_000, completion_tokens: -7, total_tokens: -1_000_007 },
  'negative details': {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: -1e12 },
    completion_tokens_details: { reasoning_tokens: -1e12 },
  },
  'cached beyond the prompt': {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 1e9 },
  },
  'past 2^53': { prompt_tokens: 2 ** 53 + 2, completion_tokens: 2 ** 63, total_tokens: 2 ** 64 },
  'a float': { prompt_tokens: 1.5, completion_tokens: 1e308 },
  'a text': { prompt_tokens: '10', completion_tokens: '-5' },
  'not a number': { prompt_tokens: null, completion_tokens: [], total_tokens: {} },
  'a list': [1, 2, 3],
  'a total alone, below nothing': { total_tokens: -5 },
}

describe('T17: no charge is negative, and none overflows', () => {
  const prices = {
    free: ['0', '0'],
    tiny: ['0.000000000001', '0.000000000001'],
    absurd: ['9007199', '9007199'],
  } as const
  const most = nanos('9007199.254740991')

  beforeAll(async () => {
    await setup.provide('absurd', (response, { body }) => {
      const [, usage] = Object.entries(ABSURD)[Number(body['seed'])] ?? []
      say(response, body['stream'], usage)
    })
    for (const [name, [in_usd, out_usd]] of Object.entries(prices)) {
      await setup.addModel(`absurd/${name}`, { in_usd, out_usd })
    }
  })

  test.each(Object.keys(ABSURD))('%s, at every price, whole and streamed', async (what) => {
    const seed = Object.keys(ABSURD).indexOf(what)
    for (const name of Object.keys(prices)) {
      for (const stream of [false, true]) {
        const account = `${seed}-${name}-${stream}`
        const { key, id } = await openAccount(account, '1000')
        const body = hello({ model: `absurd/${name}`, stream, seed, max_tokens: 2 ** 31 - 1 })
        expect(await outcome(setup.gateway.chat(key, body))).toBe('200')
        const [charge = -1n, ...more] = await chargesOf(id, account)
        expect(more).toEqual([])
        expect(charge).toBeGreaterThanOrEqual(0n)
        expect(charge).toBeLessThanOrEqual(most)
        if (name === 'free') expect(charge).toBe(0n)
        expect(await balanceOf(account)).toBe(nanos('1000') - charge)
      }
    }
    expect(setup.cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
  })

  test.each([
    '{"n":0}',
    '{"n":-1}',
    '{"n":1.5}',
    '{"n":129}',
    '{"n":9007199254740993}',
    '{"n":"2"}',
    '{"max_tokens":0}',
    '{"max_tokens":-1}',
    '{"max_tokens":2147483648}',
    '{"max_tokens":1e999}',
    '{"max_completion_tokens":-1e308}',
    '{"max_completion_tokens":0.5}',
  ])('a request for %s is refused, and consumes nothing', async (text) => {
    const { key, id } = await setup.gateway.verb('keys.create', { name: 'absurd', rpm_limit: 5 })
    const body = JSON.stringify(hello({ max_tokens: 5 })).replace(/}$/, `,${text.slice(1)}`)
    const response = await fetch(`${setup.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    })
    expect(await outcome(Promise.resolve(response))).toBe('400 invalid_request')
    expect(response.headers.get('x-ratelimit-remaining-minute')).toBe('5')
    expect(await chargesOf(id)).toEqual([])
  })

  test.each([1, 128])('%i images are held for and charged, each one', async (n) => {
    const { key, id } = await openAccount(`images-${n}`, '1000')
    const body = hello({ model: 'demo/image', modalities: ['image'], n, stream: false })
    expect(await outcome(setup.gateway.chat(key, body))).toBe('200')
    expect(await chargesOf(id, `images-${n}`)).toEqual([BigInt(n) * nanos('0.01')])
  })
})

test('T18: edits of a key while its requests run neither give money back nor take any', async () => {
  const { key, id } = await openAccount('edited', '1000')
  const asked = 300
  const asking = Array.from({ length: asked }, async (_, place) => {
    await Bun.sleep(place % 50)
    return await outcome(setup.gateway.chat(key, hello()))
  })
  for (let turn = 0; turn < 40; turn++) {
    await setup.gateway.verb('limits.set', {
      keys: [id],
      rpm_limit: 100_000 + turn,
      daily_spend_limit_usd: `${500 + turn}`,
    })
    await setup.gateway.verb('keys.edit', { key: id, name: `edited ${turn}`, note: `${turn}` })
  }
  expect(count(await Promise.all(asking))).toEqual({ 200: asked })
  const charges = await chargesOf(id, 'edited')
  expect(charges).toEqual(Array(asked).fill(CHARGE))
  expect(await balanceOf('edited')).toBe(nanos('1000') - sum(charges))
  const { usage } = await setup.gateway.verb('keys.show', { key: id })
  expect([nanos(usage.spend_day_usd), nanos(usage.spend_month_usd)]).toEqual([
    sum(charges),
    sum(charges),
  ])
})

test('T20, T22: a provider that fails before or after its first content never reduces spend, and is charged once at most', async () => {
  const body = (text: string) => `data: ${text}\n\n`
  const word = body(JSON.stringify({ choices: [{ index: 0, delta: { content: 'four words' } }] }))
  const manners: Readonly<Record<string, (response: ServerResponse) => void>> = {
    well: (response) => say(response, true, { prompt_tokens: 10, completion_tokens: 5 }),
    'error at once': (response) => void response.writeHead(500).end('{}'),
    'error after words': (response) =>
      void response.end(word + body('{"error":{"message":"broke","code":500}}')),
    'cut after words': (response) => void response.write(word, () => response.destroy()),
    'error after the count': (response) =>
      void response.end(
        word +
          body('{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}') +
          body('{"error":{"message":"broke","code":500}}'),
      ),
  }
  const order = Object.keys(manners)
  await setup.provide('moody', (response, { body: asked }) => {
    response.setHeader('content-type', 'text/event-stream')
    manners[String(asked['manner'])]?.(response)
  })
  await setup.addModel('moody/m')
  const { key, id } = await openAccount('moody', '1')
  let before = 0n
  for (const stream of [true, false]) {
    for (const manner of order) {
      const held = (await chargesOf(id, 'moody')).length
      const response = await setup.gateway.chat(key, hello({ model: 'moody/m', stream, manner }))
      await response.text()
      const charges = await chargesOf(id, 'moody')
      const spent = sum(charges)
      expect([manner, charges.length - held]).toEqual([manner, manner === 'error at once' ? 0 : 1])
      expect(spent).toBeGreaterThanOrEqual(before)
      expect(await balanceOf('moody')).toBe(nanos('1') - spent)
      before = spent
    }
  }
  expect(openHolds(setup.cli)).toBe(0)
})
