// Every kind of response that the API gives is checked against the OpenAPI document: status, headers, and each body field.

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { RubPerUsd } from '#domain/money.ts'
import { draftNotices } from '#domain/notice.ts'
import { type Upstream, UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { ApiDeps } from '#http/deps.ts'
import { renderDocument } from '#http/openapi/document.ts'
import { modelOf } from '#test/support/catalogue.ts'
import { type Furnished, furnish, hello, openApi, usd } from '#test/support/furnish.ts'
import { aCard, anAct, aProvider, aVersion } from '#test/support/nouns.ts'
import { hear, holdTo } from '#test/support/openapi.ts'
import { finish, script, text } from '#test/support/scripted-upstream.ts'
import { bearerOf, openKeyCounter } from '../key-counter.ts'

/** What the test’s provider sends beyond the fields that the gateway knows. */
const PASSING = ['annotations', 'system_fingerprint', 'extra_content']

const holder = holdTo(JSON.parse(JSON.stringify(renderDocument('1'))), PASSING)

type Fields = Readonly<Record<string, string>>

/** Sends a request and checks the response against the document; what it contains is for the test to check. */
function asking({ app }: ReturnType<typeof openApi>) {
  return async (method: string, path: string, body?: unknown, headers: Fields = {}) => {
    const answer = await app.request(`http://gateway.test${path}`, {
      method,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const heard = await hear(answer)
    holder.hold(method, path, heard)
    return { ...heard, body: read(heard.text) }
  }
}

/** The parsed JSON body; each test knows its shape. */
// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON
const read = (text: string): any => (text.startsWith('{') ? JSON.parse(text) : null)

const CHAT = '/v1/chat/completions'
const IMAGE = hello({ model: 'demo/image', modalities: ['image'] })

let deps: Furnished
let everyLimit: Fields

beforeEach(async () => {
  deps = await furnish()
  onTestFinished(() => deps.store.close())
  const { bearer } = await deps.issue({
    rpm: 100,
    rpd: 1_000,
    concurrency: 10,
    dailySpend: usd('50'),
    monthlySpend: usd('500'),
    endUserRpm: 10,
    endUserDailySpend: usd('5'),
    maxOutputTokens: 500,
    allowedModels: ['demo/*'],
  })
  everyLimit = bearer
})

const open = (changes: Partial<ApiDeps> & Parameters<typeof openApi>[1] = {}) =>
  asking(openApi(deps, changes))

describe('a chat', () => {
  test.each([
    ['whole', hello({ user: 'u_1' })],
    ['several choices', hello({ n: 2 })],
    ['a stream', hello({ stream: true })],
    [
      'a stream without its usage',
      hello({ stream: true, stream_options: { include_usage: false } }),
    ],
    ['an image', IMAGE],
  ])('%s', async (_, body) => {
    expect((await open()('POST', CHAT, body, everyLimit)).status).toBe(200)
  })

  test('by a key without limits, under the other prefix', async () => {
    const { bearer } = await deps.issue()
    const answer = await open()('POST', `/api${CHAT}`, hello(), bearer)
    expect(answer.headers.has('x-ratelimit-limit-day')).toBe(false)
  })

  test('a dry run, and one of a request that would be refused', async () => {
    const ask = open()
    const dry = { 'X-Gateway-Dry-Run': 'true' }
    await ask('POST', CHAT, hello(), { ...everyLimit, ...dry })
    const { bearer } = await deps.issue({ dailySpend: usd('0') })
    const answer = await ask('POST', CHAT, hello(), { ...bearer, ...dry })
    expect(answer.body).toMatchObject({ admitted: false, error: { status: 402 } })
  })

  test.each([hello(), hello({ stream: true })])(
    'repeated with its Idempotency-Key',
    async (body) => {
      const ask = open()
      const headers = { ...everyLimit, 'Idempotency-Key': 'k' }
      await ask('POST', CHAT, body, headers)
      const again = await ask('POST', CHAT, body, headers)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
    },
  )

  test('of the Responses API, in the words of its provider', async () => {
    const answer = { id: 'resp_1', model: 'm', output: [{ type: 'message' }], usage: null }
    await deps.store.providers.add(aProvider({ type: 'openai' }), [], [], anAct())
    await deps.store.models.add(aCard({ price: aVersion({}, deps.clock.now()) }), anAct())
    const { bearer } = await deps.issue()
    const { upstream } = script(async function* () {
      const native = { type: 'native', text: JSON.stringify(answer), holds: 'end' } as const
      yield [text('Hi'), finish(), native]
    })
    const asked = { model: 'acme/small', input: 'hi' }
    const { status, body } = await open({ upstream })('POST', '/v1/responses', asked, bearer)
    expect([status, body]).toEqual([200, answer])
  })

  test('with every field that a provider may send', async () => {
    const { upstream } = script(async function* () {
      yield [{ type: 'reasoning-delta', choice: 0, text: 'hm' }]
      yield [
        { type: 'text-delta', choice: 0, text: 'yes', logprobs: { content: [{ token: 'yes' }] } },
        { type: 'refusal-delta', choice: 0, text: 'no' },
        { type: 'image', choice: 0, url: 'data:image/png;base64,AAAA' },
        { type: 'message-fields', choice: 0, fields: { annotations: [] } },
        { type: 'answer-fields', fields: { system_fingerprint: 'fp' } },
        {
          type: 'tool-call-delta',
          choice: 0,
          index: 0,
          id: 'a',
          name: 'f',
          kind: 'function',
          arguments: '{',
        },
        { type: 'tool-call-delta', choice: 0, index: 0, kind: 'function', arguments: '}' },
        {
          type: 'tool-call-delta',
          choice: 0,
          index: 1,
          id: 'b',
          name: 'c',
          kind: 'custom',
          arguments: 'x',
          fields: { extra_content: {} },
        },
        { type: 'finish', choice: 0, reason: 'tool_calls', native: 'tool_use' },
        {
          type: 'usage',
          usage: { ...NO_USAGE, inputTokens: 9, imageInputTokens: 4, outputTokens: 3 },
        },
      ]
    })
    const ask = open({ upstream })
    const whole = await ask(
      'POST',
      CHAT,
      hello({ model: 'demo/image', modalities: ['text', 'image'] }),
      everyLimit,
    )
    expect(Object.keys(whole.body.choices[0].message)).toHaveLength(8)
    await ask('POST', CHAT, hello({ stream: true }), everyLimit)
  })

  test.each([true, false])(
    'a stream that fails after content or before it (%s)',
    async (speaks) => {
      const { upstream } = script(async function* () {
        if (speaks) yield [text('half')]
        else yield [{ type: 'usage', usage: null }]
        throw new UpstreamFailure('failed', 'it broke')
      })
      const answer = await open({ upstream })('POST', CHAT, hello({ stream: true }), everyLimit)
      expect(answer.text).toContain('"upstream_error"')
    },
  )

  test('its receipt: of an answer, of an image, of failed attempts', async () => {
    const whole = await open()('POST', CHAT, IMAGE, everyLimit)
    let asked = 0
    const { upstream } = script(async function* () {
      if (++asked === 1) throw new UpstreamFailure('failed', 'not today', { status: 500 })
      yield [text('yes'), finish()]
    })
    const ask = open({ upstream })
    const retried = await ask('POST', CHAT, hello({ user: 'u_1' }), everyLimit)
    const refused = await ask('POST', CHAT, hello({ model: 'acme/x' }), everyLimit)
    for (const { headers } of [whole, retried, refused]) {
      const path = `/v1/generation?id=${headers.get('x-generation-id')}`
      await expect
        .poll(async () => (await ask('GET', path, undefined, everyLimit)).status)
        .toBe(200)
    }
  })
})

test('the catalogue, one model of it, and a model without a price', async () => {
  const { store } = deps
  const echo = modelOf(store, 'demo/echo')
  if (!echo) throw new Error('the demo has no echo')
  await store.models.add({ ...echo, id: 'demo/free', prices: [], contextLength: null }, anAct())
  const ask = open()
  expect((await ask('GET', '/v1/models', undefined, everyLimit)).body.data).toHaveLength(5)
  await ask('GET', '/v1/models?output_modalities=image&q=demo', undefined, everyLimit)
  for (const id of ['demo/image', 'demo%2Fimage', 'demo/free']) {
    expect((await ask('GET', `/v1/models/${id}`, undefined, everyLimit)).status).toBe(200)
  }
})

test('a key’s information: with every limit, with none, and of a provisioning key', async () => {
  const bearers = [
    everyLimit,
    (await deps.issue()).bearer,
    (await deps.issue({}, 'provisioning')).bearer,
  ]
  for (const bearer of bearers) {
    expect((await open()('GET', '/v1/key', undefined, bearer)).status).toBe(200)
  }
})

test('keys: issued, listed, read, changed, revoked', async () => {
  const { api, boss } = await openKeyCounter()
  const ask = asking(api)
  const fields = {
    name: 'n',
    rpm_limit: 5,
    daily_spend_limit_usd: '5.00',
    allowed_models: ['no/*'],
  }
  const issued = await ask('POST', '/v1/keys', fields, boss.bearer)
  expect(issued.status).toBe(201)
  const { id, key, warnings } = issued.body
  expect(warnings).toHaveLength(1)
  await ask('POST', '/v1/keys', { name: 'bare' }, boss.bearer)
  await ask('POST', CHAT, hello(), bearerOf(key))
  await ask('GET', '/v1/keys?limit=1', undefined, boss.bearer)
  const patch = { name: 'm', disabled: true, expires_at: '2099-01-01T00:00:00Z' }
  await ask('PATCH', `/v1/keys/${id}`, patch, boss.bearer)
  expect((await ask('POST', CHAT, hello(), bearerOf(key))).status).toBe(401)
  for (const _ of 'twice') await ask('DELETE', `/v1/keys/${id}`, undefined, boss.bearer)
  expect((await ask('GET', `/v1/keys/${id}`, undefined, boss.bearer)).status).toBe(200)
  expect((await ask('PATCH', `/v1/keys/${id}`, {}, boss.bearer)).status).toBe(409)
  const empty = await ask('GET', `/v1/keys?after=${boss.key.id}`, undefined, boss.bearer)
  expect(empty.body.data).toEqual([])
})

test('health, and readiness also while the gateway stops', async () => {
  await open()('GET', '/healthz')
  await open()('GET', '/readyz')
  const leaving = open({ leaving: { isUnready: true, isDraining: false } })
  expect((await leaving('GET', '/readyz')).status).toBe(503)
  await open()('GET', '/openapi.json')
})

describe('a refusal', () => {
  test('with every header that a refusal may have', async () => {
    const ask = open()
    const poor = await deps.issue({ dailySpend: usd('0') })
    const slow = await deps.issue({ rpd: 1 })
    await ask('POST', CHAT, hello(), slow.bearer)
    const answers = [
      await ask('POST', CHAT, hello()),
      await ask('POST', CHAT, hello(), poor.bearer),
      await ask('POST', CHAT, hello(), slow.bearer),
      await ask('POST', CHAT, '{', everyLimit),
      await ask('POST', CHAT, hello(), { ...everyLimit, 'Content-Type': 'text/plain' }),
      await ask('GET', '/v1/nothing'),
      await ask('DELETE', '/v1/models'),
      await ask('GET', '/v1/nothing', undefined, everyLimit),
      await ask('DELETE', '/v1/models', undefined, everyLimit),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      401, 402, 429, 400, 415, 404, 405, 404, 405,
    ])
    const { api, boss } = await openKeyCounter()
    const large = { name: 'x'.repeat(2 ** 20) }
    expect((await asking(api)('POST', '/v1/keys', large, boss.bearer)).status).toBe(413)
  })

  test('by the provider, and by a gateway that is stopping', async () => {
    const kinds = [
      'rejected',
      'unauthorized',
      'overloaded',
      'failed',
      'timeout',
      'no-image',
    ] as const
    const statuses = []
    for (const kind of kinds) {
      const { upstream } = script(
        async function* () {},
        async () => {
          throw new UpstreamFailure(kind, 'no', { status: 418, permanent: 'request' })
        },
      )
      statuses.push((await open({ upstream })('POST', CHAT, IMAGE, everyLimit)).status)
    }
    const drained = open({ leaving: { isUnready: true, isDraining: true } })
    statuses.push((await drained('POST', CHAT, hello(), everyLimit)).status)
    expect(statuses).toEqual([400, 502, 503, 502, 504, 502, 503])
  })
})

test('a preflight, at a known path and elsewhere', async () => {
  for (const path of [CHAT, '/nowhere']) expect((await open()('OPTIONS', path)).status).toBe(204)
})

test('the webhook event', () => {
  const facts = {
    eventId: 'evt_01k3e5q9zzzzzzzzzzzzzzzzzz',
    accountId: 'acct_01k3e5q9zzzzzzzzzzzzzzzzzz',
    at: deps.clock.now(),
    balance: usd('19.5'),
    below: usd('20'),
    rubPerUsd: 90_000_000n as RubPerUsd,
  } as const
  for (const isTest of [true, false]) {
    const [notice] = draftNotices({ ...facts, isTest }, ['webhook'])
    expect(holder.fits('LowBalance', JSON.parse(notice?.body ?? ''))).toBe(true)
  }
})

test("Anthropic's API: a message, a stream, a count, a refusal; a WebSocket; the root", async () => {
  const at = deps.clock.now()
  const provider = aProvider({ name: 'claude', type: 'anthropic' })
  await deps.store.providers.add(provider, [], [], anAct(at))
  await deps.store.models.add(aCard({ id: 'claude/m', provider: 'claude' }), anAct(at))
  const { bearer } = await deps.issue()
  const whole = JSON.stringify({
    ...{ type: 'message', id: 'm', role: 'assistant', model: 'm', content: [] },
    ...{ stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } },
  })
  const stop = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  const upstream: Upstream = {
    async ask(call) {
      call.sending.providerRequestId = 'req_theirs'
      return (async function* () {
        const said = call.request.stream ? stop : whole
        yield [text('x'), finish(), { type: 'native', text: said, holds: 'end' } as const]
      })()
    },
    count: async () => '{"input_tokens":1}',
  }
  const ask = asking(openApi(deps, { upstream }))
  const body = { ...hello(), model: 'claude/m' }
  expect((await ask('POST', '/v1/messages', body, bearer)).body.type).toBe('message')
  expect((await ask('POST', '/v1/messages', { ...body, stream: true }, bearer)).text).toBe(stop)
  expect((await ask('POST', '/v1/messages/count_tokens', body, bearer)).body.input_tokens).toBe(1)
  const refused = { ...body, container: 'c' }
  expect((await ask('POST', '/v1/messages', refused, bearer)).body.type).toBe('error')
  expect((await ask('POST', '/v1/messages', body)).status).toBe(401)
  await ask('GET', '/')
  await ask('GET', '/v1/responses', undefined, { upgrade: 'websocket' })
})

// Last, because it checks which parts the tests above have covered.
test('vectors, and an order of documents', async () => {
  await deps.store.providers.add(aProvider(), [], [], anAct())
  for (const kind of ['embed', 'rerank'] as const) {
    await deps.store.models.add(aCard({ id: `acme/${kind}`, kind }), anAct())
  }
  const { bearer } = await deps.issue({})
  const { upstream } = script(async function* ({ request }) {
    yield request.kind === 'embed'
      ? [{ type: 'vectors', vectors: [[0.5, 1]] }]
      : [{ type: 'ranking', ranking: [{ index: 0, score: 0.5 }] }]
  })
  const ask = open({ upstream })
  const vectors = await ask('POST', '/v1/embeddings', { model: 'acme/embed', input: 'a' }, bearer)
  expect(vectors.body.data).toEqual([{ object: 'embedding', index: 0, embedding: [0.5, 1] }])
  const asked = { model: 'acme/rerank', query: 'q', documents: ['a'] }
  const order = await ask('POST', '/v1/rerank', asked, bearer)
  expect(order.body.results).toEqual([{ index: 0, relevance_score: 0.5 }])
})

test('every response in the document occurred in these tests', () => {
  const { document, seen } = holder
  expect([...seen.headers].toSorted()).toEqual(
    [
      ...Object.keys(document.components.headers).map((name) => name.toLowerCase()),
      'content-type',
    ].toSorted(),
  )
  const told = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as object).flatMap(([method, { responses = {} }]) =>
      Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  )
  const good = told.filter((answer) => / 2\d\d$/.test(answer))
  expect([...seen.answers]).toEqual(expect.arrayContaining(good))
})
