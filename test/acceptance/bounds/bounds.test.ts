/** What is held is what is allowed: many at once without a bound of their own, on the compiled program (contract §8). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { hello } from '../traps/scripted-gateway.ts'
import { type BoundGateway, MAXIMUM, openBoundGateway } from './bound-gateway.ts'

const AT_ONCE = 200

let setup: BoundGateway
beforeAll(async () => {
  setup = await openBoundGateway()
  await setup.serve('both')
  await setup.serve('old', ['max_tokens'])
  await setup.serve('broken', [], () => new Response('{}', { status: 500 }))
})
afterAll(() => setup?.close())
beforeEach(() => {
  setup.bounds.length = 0
  setup.open.peak = 0
  setup.open.together = 0
})

const ask = async (key: string, body: object, init: RequestInit = {}) => {
  const response = await setup.gateway.chat(key, body, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

const many = (key: string, bodies: (place: number) => object, count = AT_ONCE) =>
  Promise.all(Array.from({ length: count }, (_, place) => ask(key, bodies(place))))

const statuses = (answers: readonly { readonly status: number }[]): readonly number[] => [
  ...new Set(answers.map(({ status }) => status)),
]

describe('T46: a ceiling of $1 and a balance of $2, 200 at once: within the ceiling and one request', () => {
  test.each([
    ['whole answers', () => hello({ model: 'both/m' })],
    ['streams', () => hello({ model: 'both/m', stream: true })],
    ['both', (place: number) => hello({ model: 'both/m', stream: place % 2 === 0 })],
    ['a server that knows one word only', () => hello({ model: 'old/m' })],
    ['several choices', () => hello({ model: 'both/m', n: 3 })],
    ['a fallback', () => hello({ model: 'broken/m', models: ['both/m'] })],
    ['bounds stated far above the model’s', () => hello({ model: 'both/m', max_tokens: 2e9 })],
  ])('%s', async (_, body) => {
    const key = await setup.openKey('2', { daily_spend_limit_usd: '1' })
    const answers = await many(key, body)
    expect(statuses(answers).filter((status) => ![200, 402, 429].includes(status))).toEqual([])
    await setup.expectWithin(key, '1')
  })

  test('images', async () => {
    await setup.gateway.verb('models.add', {
      model: 'both/draws',
      in_usd: '1',
      out_usd: '10',
      per_image_usd: [{ usd: '0.05' }],
      max_completion_tokens: MAXIMUM,
    })
    const key = await setup.openKey('2', { daily_spend_limit_usd: '1' })
    await many(key, () => hello({ model: 'both/draws', modalities: ['image', 'text'] }))
    await setup.expectWithin(key, '1')
  })

  test('repetitions pay once, and say the bound of the first answer', async () => {
    const key = await setup.openKey('2', { daily_spend_limit_usd: '1' })
    const body = hello({ model: 'both/m' })
    const repeat = (place: number) =>
      ask(key, body, {
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': `k${place % 20}`,
        },
      })
    const first = await Promise.all(Array.from({ length: 100 }, (_, place) => repeat(place)))
    const again = await Promise.all(Array.from({ length: 20 }, (_, place) => repeat(place)))
    await setup.expectWithin(key, '1')
    const replays = again.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')
    expect(replays.length).toBeGreaterThan(0)
    const boundsOf = (some: typeof first) =>
      new Map(
        some
          .filter(({ status }) => status === 200)
          .map(({ headers }) => [
            headers.get('x-generation-id'),
            headers.get('x-gateway-max-output-tokens'),
          ]),
      )
    for (const [id, bound] of boundsOf(replays)) expect(boundsOf(first).get(id)).toBe(bound)
  })
})

test('ample money cuts nothing: 200 at once, none refused, none bounded below the card', async () => {
  const key = await setup.openKey('10000')
  const answers = await many(key, () => hello({ model: 'both/m' }))
  expect(statuses(answers)).toEqual([200])
  // A typed maximum is stated, and not told as lowered.
  expect(new Set(setup.bounds)).toEqual(new Set([MAXIMUM]))
  expect(answers.some(({ headers }) => headers.has('x-gateway-max-output-tokens'))).toBe(false)
})

test.each([
  ['short prompts', 'hi'],
  ['prompts of 20 KB', 'word '.repeat(4_096)],
])('a ceiling of five dollars admits twenty at once: %s', async (_, content) => {
  const key = await setup.openKey('1000', { daily_spend_limit_usd: '5' })
  setup.open.together = 20
  const answers = await many(
    key,
    () => ({ model: 'both/m', messages: [{ role: 'user', content }] }),
    20,
  )
  expect(statuses(answers)).toEqual([200])
  expect(setup.open.peak).toBe(20)
  const lowered = answers.filter(({ headers }) => headers.has('x-gateway-max-output-tokens'))
  expect(lowered).toHaveLength(setup.bounds.filter((bound) => bound !== MAXIMUM).length)
  await setup.expectWithin(key, '5')
})

describe('T47: who can pay is not turned away', () => {
  const large = { role: 'user', content: 'word '.repeat(80_000) }
  const body = () => ({ model: 'brief/large', messages: [large], max_tokens: MAXIMUM })

  beforeAll(async () => {
    await setup.serve('brief', [], () =>
      Response.json({
        choices: [
          { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: 100_000, completion_tokens: 500 },
      }),
    )
    await setup.gateway.verb('models.add', {
      model: 'brief/large',
      in_usd: '3',
      out_usd: '15',
      context_length: 200_000,
      max_completion_tokens: MAXIMUM,
    })
  })

  test.each([
    [8, '5'],
    [20, '25'],
  ] as const)(
    '%i with prompts of 400 KB and max_tokens 64000 under $%s',
    async (count, ceiling) => {
      const key = await setup.openKey('1000', { daily_spend_limit_usd: ceiling })
      const answers = await many(key, body, count)
      expect(statuses(answers)).toEqual([200])
      await setup.expectWithin(key, ceiling)
    },
  )
})

describe('one that waits', () => {
  let release: () => void
  let held: Promise<void>
  const order: string[] = []

  beforeAll(async () => {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { user } = (await request.json()) as { user: string }
        order.push(user)
        await held
        return Response.json({
          choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        })
      },
    })
    await setup.gateway.verb('providers.add', {
      name: 'slow',
      type: 'openai-compatible',
      base_url: `http://127.0.0.1:${server.port}/v1`,
      credential: null,
    })
    await setup.gateway.verb('models.add', { model: 'slow/m', in_usd: '1', out_usd: '10' })
  })
  beforeEach(() => {
    order.length = 0
    const gate = Promise.withResolvers<void>()
    held = gate.promise
    release = gate.resolve
  })

  /** Holds so much that no second one fits. */
  const body = (user: string) => hello({ model: 'slow/m', user, max_tokens: 4_000 })
  const CEILING = '0.05'

  const idOf = async (key: string): Promise<string> => {
    const headers = { authorization: `Bearer ${key}` }
    const info = await fetch(`${setup.gateway.url}/v1/key`, { headers })
    return ((await info.json()) as { id: string }).id
  }

  test('is served in order of arrival, and one that leaves frees its place and pays nothing', async () => {
    const key = await setup.openKey('10', { daily_spend_limit_usd: CEILING })
    const leaving = new AbortController()
    const asked = ['a', 'b', 'c', 'd', 'e'].map(async (user, place) => {
      await until(() => place === 0 || order[0] === 'a', 'the first is asked')
      await Bun.sleep(place * 20)
      const signal = user === 'c' ? leaving.signal : null
      return await ask(key, body(user), { signal }).catch(() => null)
    })
    await until(() => order.length === 1, 'the first is asked')
    await Bun.sleep(200)
    expect(order).toEqual(['a'])
    leaving.abort()
    await asked[2]
    release()
    expect((await Promise.all(asked)).map((answer) => answer?.status)).toEqual([
      200,
      200,
      undefined,
      200,
      200,
    ])
    expect(order).toEqual(['a', 'b', 'd', 'e'])
    expect(await setup.chargesOf(key)).toHaveLength(4)
    const lines = await setup.gateway.verb('activity.list', { key: await idOf(key), limit: 10 })
    expect(lines.map(({ ended_by: by, status }) => `${by} ${status}`).toSorted()).toEqual([
      'client 499',
      ...Array(4).fill('completed 200'),
    ])
  })

  test('is served when the ceiling is raised', async () => {
    const key = await setup.openKey('10', { daily_spend_limit_usd: CEILING })
    const first = ask(key, body('a'))
    await until(() => order.length === 1, 'the first is asked')
    const second = ask(key, body('b'))
    await setup.gateway.verb('limits.set', { keys: [await idOf(key)], daily_spend_limit_usd: '1' })
    await until(() => order.length === 2, 'the second is asked')
    release()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
  })

  test('does not delay a key that has money of its own', async () => {
    const key = await setup.openKey('10', { daily_spend_limit_usd: CEILING })
    const first = ask(key, body('a'))
    await until(() => order.length === 1, 'the first is asked')
    const second = ask(key, body('b'))
    expect((await ask(await setup.openKey('10'), hello({ model: 'both/m' }))).status).toBe(200)
    release()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
  })

  test('beyond 64 of a key it is refused at once, with the limit and when to come again', async () => {
    const key = await setup.openKey('10', { daily_spend_limit_usd: CEILING })
    const asked = Array.from({ length: 70 }, (_, place) => ask(key, body(`u${place}`)))
    const early: string[] = []
    for (const one of asked) {
      void one.then(({ status, headers, text }) => {
        if (status === 429) early.push(`${headers.get('retry-after')} ${text}`)
      })
    }
    await until(() => early.length === 5, 'five are refused')
    for (const one of early) {
      expect(one).toMatch(/^[1-9]\d* /)
      expect(one).toContain('spend_reserved')
      expect(one).toContain('daily_spend_limit_usd')
    }
    release()
    const answers = await Promise.all(asked)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(65)
  })
})

describe('long answers in scripts with many bytes to a token', () => {
  test.each([
    ['Russian', 'привет '],
    ['Hindi', 'नमस्ते '],
  ])('%s: 60,000 characters are not cut before their bound', async (name, word) => {
    const text = word.repeat(60_000 / word.length)
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => {
        const events = (text.match(/.{1,500}/gs) ?? []).map((content) => ({
          choices: [{ index: 0, delta: { content } }],
        }))
        const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
        const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 16_000 } }
        const lines = [...events, finish, usage].map(
          (event) => `data: ${JSON.stringify(event)}\n\n`,
        )
        return new Response(`${lines.join('')}data: [DONE]\n\n`, {
          headers: { 'content-type': 'text/event-stream' },
        })
      },
    })
    const provider = name.toLowerCase()
    await setup.gateway.verb('providers.add', {
      name: provider,
      type: 'openai-compatible',
      base_url: `http://127.0.0.1:${server.port}/v1`,
      credential: null,
    })
    await setup.gateway.verb('models.add', {
      model: `${provider}/m`,
      in_usd: '1',
      out_usd: '10',
      max_completion_tokens: MAXIMUM,
    })
    const key = await setup.openKey('100')
    const answer = await ask(key, hello({ model: `${provider}/m`, stream: true }))
    const said = answer.text
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? '')
      .join('')
    expect(said.length).toBe(text.length)
    await server.stop(true)
  })
})

describe('T48: a provider that ignores its bound', () => {
  /** Twenty thousand tokens where a hundred were allowed, streamed with or without a running count. */
  const words = 'word '.repeat(400)
  let streamed = 0

  beforeAll(async () => {
    await setup.serve('deaf', ['max_tokens'], ({ stream }) => {
      const usage = { prompt_tokens: 10, completion_tokens: 20_000 }
      if (stream !== true) {
        const message = { role: 'assistant', content: words }
        return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
      }
      streamed = 0
      const encoder = new TextEncoder()
      const body = new ReadableStream({
        async pull(controller) {
          if (streamed++ >= 500) return controller.close()
          // Slower than a busy machine is.
          await Bun.sleep(10)
          const chunk = { choices: [{ index: 0, delta: { content: words } }] }
          controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`))
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
  })

  test('its stream is ended like one at its bound, and costs no more than was held', async () => {
    const key = await setup.openKey('10')
    const answer = await ask(key, hello({ model: 'deaf/m', stream: true, max_tokens: 100 }))
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('"finish_reason":"length"')
    expect(answer.text).toContain('"usage":{')
    expect(answer.text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(streamed).toBeLessThan(20)
    const id = answer.headers.get('x-generation-id') ?? ''
    const receipt = await setup.gateway.verb('activity.show', { id })
    expect(receipt).toMatchObject({ finish_reason: 'length', ended_by: 'gateway', status: 200 })
    expect(receipt).toMatchObject({ usage_source: 'estimated', beyond_hold: false })
    expect(receipt.usage.completion_tokens).toBe(100)
    expect(Number(receipt.operator_cost_usd)).toBeGreaterThan(0)
  })

  test('its whole answer is charged as counted, and told in the log and by the audit', async () => {
    const key = await setup.openKey('10')
    const answer = await ask(key, hello({ model: 'deaf/m', max_tokens: 100 }))
    const id = answer.headers.get('x-generation-id') ?? ''
    const receipt = await setup.gateway.verb('activity.show', { id })
    expect(receipt).toMatchObject({ cost_usd: '0.20001', beyond_hold: true })
    const audit = setup.cli.run(['audit'])
    expect(audit.code).toBe(0)
    expect(audit.out).toContain(id)
    expect(audit.out).toContain('audit clean')
    const logged = () =>
      setup.gateway
        .said()
        .split('\n')
        .find((text) => text.includes(id))
    await until(() => logged() !== undefined, 'the request is logged')
    expect(JSON.parse(logged() ?? '{}')).toMatchObject({ beyond_hold_usd: expect.any(String) })
  })
})

test('the dry run quotes what is held', async () => {
  const key = await setup.openKey('2', { daily_spend_limit_usd: '1' })
  const body = hello({ model: 'both/m' })
  const quoted = JSON.parse(
    (
      await ask(key, body, {
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-gateway-dry-run': 'true',
        },
      })
    ).text,
  )
  expect(quoted).toMatchObject({
    admitted: true,
    route: [{ max_output_tokens: MAXIMUM, lowered: false }],
  })
  const { headers } = await ask(key, body)
  const id = headers.get('x-generation-id') ?? ''
  const receipt = await setup.gateway.verb('activity.show', { id })
  expect(receipt).toMatchObject({ held_usd: quoted.max_cost_usd, beyond_hold: false })
})
