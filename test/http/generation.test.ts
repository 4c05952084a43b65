// GET /v1/generation: the receipt of a request, for keys of its own account, without the operator’s internal data.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newAccountId, newGenerationId, newKeyId } from '#domain/id.ts'
import { labelOf, newSecret } from '#domain/secret.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { modelOf } from '#test/support/catalogue.ts'
import {
  type Furnished,
  furnish,
  type HandClock,
  handClock,
  hello,
  openApi,
  type TestKey,
} from '#test/support/furnish.ts'
import { anAct, aRoute, usd } from '#test/support/nouns.ts'
import { eventually, finish, never, script, text, until } from '#test/support/scripted-upstream.ts'

const NOON = Date.UTC(2026, 7, 22, 12)

let clock: HandClock
let deps: Furnished
let worker: TestKey

beforeEach(async () => {
  clock = handClock(NOON)
  deps = await furnish({ clock })
  worker = await deps.issue({ rpm: 60 })
})
afterEach(() => deps.store.close())

const COUNTED = {
  type: 'usage',
  usage: { ...NO_USAGE, inputTokens: 10, cacheReadTokens: 6, outputTokens: 5, reasoningTokens: 2 },
  statedCost: usd('0.123456789'),
} as const

/** Answers after a third of a second, and states what it charges the operator. */
const answers = () =>
  script(async function* () {
    clock.advance(340)
    yield [text('fine')]
    clock.advance(100)
    yield [finish(), COUNTED]
  })

interface ReceiptAnswer {
  readonly id: string
  readonly lines: readonly { readonly class: string }[]
  readonly data: Readonly<Record<string, unknown>>
}

const receiptFor = async (
  { get }: ReturnType<typeof openApi>,
  id: string | null,
  bearer = worker.bearer,
  prefix = '/v1',
) => get(`${prefix}/generation?id=${id}`, bearer)

const idOf = (response: Response): string => response.headers.get('x-generation-id') ?? ''

test('a receipt has exactly these fields', async () => {
  const api = openApi(deps, { upstream: answers().upstream })
  const asked = hello({ user: 'u_204' })
  const answer = await api.chat(worker.bearer, asked, { 'X-Request-Id': 'mine-1' })
  const { id, usage } = (await answer.json()) as { id: string; usage: { cost_rub: number } }
  const card = modelOf(deps.store, 'demo/echo')
  expect(await (await receiptFor(api, id)).json()).toEqual({
    object: 'generation',
    max_output_tokens: null,
    modifiers: [],
    cut_tools: [],
    id,
    request_id: 'mine-1',
    created_at: '2026-08-22T12:00:00Z',
    key_id: worker.key.id,
    key_name: 'worker',
    user: 'u_204',
    surface: 'chat',
    session: null,
    model: 'demo/echo',
    provider: 'demo',
    stream: false,
    status: 200,
    code: null,
    ended_by: 'completed',
    finish_reason: 'stop',
    cost_usd: '0.000026',
    cost_rub: usage.cost_rub,
    rub_per_usd: '90',
    price_version: card?.prices[0]?.id,
    charged_at: '2026-08-22T12:00:00.440Z',
    lines: [
      line('input_tokens', 10, '0.000001', '0.00001'),
      line('cache_read_tokens', 6, '0.000001', '0.000006'),
      line('output_tokens', 5, '0.000002', '0.00001'),
    ],
    image: null,
    usage: {
      prompt_tokens: 16,
      completion_tokens: 5,
      total_tokens: 21,
      reasoning_tokens: 2,
      images: 0,
    },
    usage_source: 'provider',
    queued_ms: 0,
    first_byte_ms: 340,
    total_ms: 440,
    attempts: [
      {
        model: 'demo/echo',
        provider: 'demo',
        outcome: 'answered',
        status: null,
        reason: null,
        ms: 440,
      },
    ],
    data: {
      id,
      model: 'demo/echo',
      provider_name: 'demo',
      created_at: '2026-08-22T12:00:00Z',
      external_user: 'u_204',
      streamed: false,
      cancelled: false,
      finish_reason: 'stop',
      native_finish_reason: null,
      latency: 440,
      generation_time: 440,
      total_cost: 0.000026,
      usage: 0.000026,
      is_byok: false,
      tokens_prompt: 16,
      tokens_completion: 5,
      native_tokens_prompt: 16,
      native_tokens_completion: 5,
      native_tokens_cached: 6,
      native_tokens_reasoning: 2,
      native_tokens_completion_images: 0,
      num_media_prompt: 0,
      num_media_completion: 0,
    },
  })
})

const line = (name: string, count: number, unitPrice: string, amount: string) => ({
  class: name,
  unit: 'token',
  count,
  unit_price_usd: unitPrice,
  amount_usd: amount,
})

describe('a receipt is shown', () => {
  test('under both prefixes, to every key of the account, with rate headers, without using a slot', async () => {
    const api = openApi(deps)
    const id = idOf(await api.chat(worker.bearer, hello()))
    const colleague = await deps.issue({ rpm: 5 })
    for (const prefix of ['/v1', '/api/v1']) {
      const response = await receiptFor(api, id, colleague.bearer, prefix)
      expect(response.status).toBe(200)
      expect(response.headers.get('x-ratelimit-remaining-minute')).toBe('5')
      expect(await response.json()).toMatchObject({ id, key_id: worker.key.id })
    }
  })

  test('as soon as a stream has ended, by the id in its first chunk', async () => {
    const api = openApi(deps)
    const response = await api.chat(worker.bearer, hello({ stream: true }))
    const body = await response.text()
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true)
    const receipt = await receiptFor(api, /"id":"(gen-\w+)"/.exec(body)?.[1] ?? null)
    expect(await receipt.json()).toMatchObject({ stream: true, ended_by: 'completed' })
  })

  test('for a refused request: the limit that refused it, and no charge', async () => {
    const api = openApi(deps)
    const poor = await deps.issue({ dailySpend: usd('0') })
    const refused = await api.chat(poor.bearer, hello())
    expect(refused.status).toBe(402)
    const response = await receiptFor(api, idOf(refused), poor.bearer)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      status: 402,
      code: 'daily_spend_limit_exceeded',
      ended_by: 'refused',
      provider: null,
      cost_usd: '0',
      price_version: null,
      lines: [],
      attempts: [],
      data: { total_cost: 0, provider_name: null },
    })
  })

  test('for a request whose client disconnected, marked as cancelled', async () => {
    const held = script(
      async function* () {},
      (call) => until(never, call),
    )
    const api = openApi(deps, { upstream: held.upstream })
    const leaving = new AbortController()
    const asked = api.app.request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...worker.bearer },
      body: JSON.stringify(hello()),
      signal: leaving.signal,
    })
    await eventually(() => held.calls.length === 1, 'the provider is asked')
    leaving.abort()
    await asked
    const [left] = await deps.store.activity.list({ limit: 5 })
    const receipt = await receiptFor(api, left?.generationId ?? null)
    expect(await receipt.json()).toMatchObject({ ended_by: 'client', data: { cancelled: true } })
  })

  test('for images: the price per image, at the size that was drawn', async () => {
    const api = openApi(deps)
    const wish = hello({ model: 'demo/image', modalities: ['image'] })
    const answer = await api.chat(worker.bearer, wish)
    const receipt = (await (await receiptFor(api, idOf(answer))).json()) as ReceiptAnswer
    expect(receipt.lines.at(-1)).toMatchObject({ class: 'output_images', unit: 'image', count: 1 })
    expect(receipt.data['num_media_completion']).toBe(1)
  })

  test('after a fallback: every attempt, without the operator’s internal data', async () => {
    const at = clock.now()
    const echo = modelOf(deps.store, 'demo/echo')
    await deps.store.providers.add(
      {
        name: 'spare',
        type: 'openai-compatible',
        baseUrl: 'http://10.1.2.3/v1',
        outputBound: null,
        learnedBound: null,
        createdAt: at,
      },
      [],
      [],
      anAct(),
    )
    await deps.store.models.route(
      aRoute('demo/echo', [
        { provider: 'spare', upstreamName: 'x', position: 1, weight: 1 },
        { provider: 'demo', upstreamName: 'echo', position: 2, weight: 1 },
      ]),
      anAct(),
    )
    const broke = script(
      async function* () {},
      async () => {
        clock.advance(70)
        throw new UpstreamFailure('unauthorized', 'account wrong-account has no money', {
          status: 402,
        })
      },
    )
    const api = openApi(deps, {
      upstreamFor: ({ name }) => (name === 'spare' ? broke : answers()).upstream,
    })
    const answer = await api.chat(worker.bearer, hello())
    const response = await receiptFor(api, idOf(answer))
    const body = await response.text()
    expect(JSON.parse(body)).toMatchObject({
      provider: 'demo',
      price_version: echo?.prices[0]?.id,
      attempts: [
        {
          provider: 'spare',
          outcome: 'unauthorized',
          status: 402,
          reason:
            "the gateway's own account with spare does not work; the operator has to look at it",
          ms: 70,
        },
        { provider: 'demo', outcome: 'answered', ms: 440 },
      ],
    })
    // What providers charge and what their errors say is not shown to clients.
    expect(body).not.toMatch(/wrong-account|10\.1\.2\.3|0\.12345|operator_cost|stated/)
  })
})

describe('a receipt is not shown', () => {
  const refusal = async (response: Response) => {
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    return [response.status, error['code'], error['param']]
  }
  const NOT_FOUND = [404, 'generation_not_found', 'id']

  async function strangerOf(account: string): Promise<TestKey['bearer']> {
    const at = clock.now()
    const id = newAccountId(at)
    await deps.store.accounts.create({ ...deps.account, id, name: account }, anAct())
    const secret = newSecret()
    const key = { ...worker.key, id: newKeyId(at), accountId: id, label: labelOf(secret) }
    await deps.store.keys.issue(key, secret, anAct())
    return { Authorization: `Bearer ${secret}` }
  }

  test('T6: to a key of another account, which gets the same answer as for an id that never existed', async () => {
    const api = openApi(deps)
    const id = idOf(await api.chat(worker.bearer, hello()))
    const stranger = await strangerOf('other')
    const [theirs, none] = [
      await receiptFor(api, id, stranger),
      await receiptFor(api, newGenerationId(clock.now()), stranger),
    ]
    expect(theirs.headers.get('x-ratelimit-limit-minute')).toBe('60')
    const messages = [await theirs.json(), await none.json()].map(
      (body) => (body as { error: object }).error,
    )
    expect(messages[0]).toEqual(messages[1])
    expect(messages[0]).toMatchObject({ code: 'generation_not_found' })
    expect((await receiptFor(api, id)).status).toBe(200)
  })

  test('after its retention period; the error says so from the time in the id alone', async () => {
    const api = openApi(deps)
    const id = idOf(await api.chat(worker.bearer, hello()))
    expect((await receiptFor(api, id)).status).toBe(200)
    const neverWas = newGenerationId(clock.now())
    clock.advance(86_400_000)
    const young = newGenerationId(clock.now())
    const why = async (one: string) => {
      const response = await receiptFor(api, one)
      expect(response.status).toBe(404)
      return ((await response.json()) as { error: { message: string } }).error.message
    }
    const none = 'there is no such generation, or it has not ended yet'
    expect(await why(neverWas)).toBe(none)
    expect(await deps.store.activity.trim(clock.now(), 9)).toBe(1)
    const gone =
      'there is no such generation: what ended before 2026-08-23T12:00:00Z is no longer kept'
    expect([await why(id), await why(neverWas), await why(young)]).toEqual([gone, gone, none])
  })

  test('while the request runs', async () => {
    const { promise: word, resolve: giveWord } = Promise.withResolvers<void>()
    const held = script(async function* (call) {
      yield [text('hold on')]
      await until(word, call)
      yield [finish(), COUNTED]
    })
    const api = openApi(deps, { upstream: held.upstream })
    const streaming = await api.chat(worker.bearer, hello({ stream: true }))
    const id = idOf(streaming)
    expect(id).toMatch(/^gen-/)
    expect(await refusal(await receiptFor(api, id))).toEqual(NOT_FOUND)
    giveWord()
    await streaming.text()
    expect((await receiptFor(api, id)).status).toBe(200)
  })

  test.each(['gen-', 'gen-none', 'led_x', '%27%20OR%201=1', `gen-${'z'.repeat(9_000)}`])(
    'under %s',
    async (id) => {
      expect(await refusal(await receiptFor(openApi(deps), id))).toEqual(NOT_FOUND)
    },
  )

  test.each(['/v1/generation', '/v1/generation?id=', '/api/v1/generation?ID=x'])(
    'without an id: %s',
    async (path) => {
      const response = await openApi(deps).get(path, worker.bearer)
      expect(await refusal(response)).toEqual([400, 'invalid_request', 'id'])
    },
  )

  test('to a provisioning key or without a key, whatever id is given', async () => {
    const api = openApi(deps)
    const id = idOf(await api.chat(worker.bearer, hello()))
    const { bearer } = await deps.issue({}, 'provisioning')
    for (const path of ['/v1/generation', `/v1/generation?id=${id}`]) {
      const response = await api.get(path, bearer)
      expect(await refusal(response)).toEqual([403, 'provisioning_key_not_allowed', null])
    }
    expect((await api.get(`/v1/generation?id=${id}`)).status).toBe(401)
  })

  test('by another HTTP method', async () => {
    const { app } = openApi(deps)
    const response = await app.request('http://gateway.test/v1/generation', { method: 'DELETE' })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })
})
