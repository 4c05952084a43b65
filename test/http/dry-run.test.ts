// `X-Gateway-Dry-Run: true` answers the verdict, the route and the highest possible cost, and consumes nothing.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ModelCard } from '#domain/model-card.ts'
import { noEvents } from '#domain/upstream.ts'
import { modelOf } from '#test/support/catalogue.ts'
import { type Furnished, furnish, hello, openApi, type TestKey } from '#test/support/furnish.ts'
import { aCard, anAct, aProvider, aRoute, usd } from '#test/support/nouns.ts'

const DRY = { 'X-Gateway-Dry-Run': 'true' }

let deps: Furnished
let api: ReturnType<typeof openApi>

beforeEach(async () => {
  deps = await furnish()
  api = openApi(deps, {
    upstream: {
      ask: ({ isDry }) =>
        isDry ? Promise.resolve(noEvents()) : Promise.reject(new Error('a dry run asks nobody')),
    },
  })
})
afterEach(() => deps.store.close())

interface QuoteBody {
  readonly max_cost_usd: string
  readonly max_cost_rub: number
  readonly route: readonly { readonly model: string; readonly provider: string }[]
}

const ask = async (key: TestKey, body: unknown = hello()) => {
  const response = await api.chat(key.bearer, body, DRY)
  return { response, quote: (await response.json()) as QuoteBody }
}

/** Checks that there is no slot, no hold, no charge and no activity entry. */
async function expectNothingTaken({ key }: TestKey): Promise<void> {
  const { store, clock } = deps
  expect(await store.admissions.usage(key.id, clock.now())).toMatchObject({
    requestsInProgress: 0,
    requestsMinute: 0,
    reserved: 0n,
    spendDay: 0n,
  })
  expect((await store.health({ checkIntegrity: false })).openHolds).toBe(0)
  expect(await store.activity.list({ keyId: key.id, limit: 10 })).toEqual([])
}

test('a request that would be admitted: the model that would answer, and the hold it would take', async () => {
  const key = await deps.issue({ rpm: 5 })
  const { response, quote } = await ask(key, hello({ max_tokens: 10 }))
  expect(response.status).toBe(200)
  expect(quote).toMatchObject({
    object: 'quote',
    model: 'demo/echo',
    admitted: true,
    error: null,
    route: [{ model: 'demo/echo', provider: 'demo', max_cost_usd: quote.max_cost_usd }],
  })
  expect(response.headers.get('x-ratelimit-remaining-minute')).toBe('5')
  await expectNothingTaken(key)

  const longer = (await ask(key, hello({ max_tokens: 20 }))).quote
  expect(Number(longer.max_cost_usd)).toBeGreaterThan(Number(quote.max_cost_usd))
  expect(quote.max_cost_rub).toBeCloseTo(Number(quote.max_cost_usd) * 90, 6)
})

test('a request that would be refused: the error that the refusal itself would have', async () => {
  const key = await deps.issue({ dailySpend: usd('0') })
  const { response, quote } = await ask(key)
  expect(response.status).toBe(200)
  expect(quote).toMatchObject({
    admitted: false,
    error: {
      status: 402,
      code: 'daily_spend_limit_exceeded',
      metadata: { limit: 'daily_spend_limit_usd', limit_value: '0' },
    },
  })
  await expectNothingTaken(key)
})

test('a request that fails before admission is refused as usual', async () => {
  const key = await deps.issue({ allowedModels: ['other/*'] })
  expect((await ask(key)).response.status).toBe(403)
  const free = await deps.issue()
  expect((await ask(free, hello({ model: 'demo/none' }))).response.status).toBe(404)
  expect((await api.chat({}, hello(), DRY)).status).toBe(401)
})

test('lists every hop of a route with its highest cost', async () => {
  const { store } = deps
  await store.providers.add(aProvider({ name: 'other' }), [], [], anAct())
  const echo = modelOf(store, 'demo/echo') as ModelCard
  const hop = { upstreamName: 'echo', position: 1, weight: 1 }
  await store.models.route(
    aRoute(echo.id, [
      { ...hop, provider: 'demo' },
      { ...hop, provider: 'other', position: 2 },
    ]),
    anAct(),
  )
  const key = await deps.issue()
  const { quote } = await ask(key, hello({ models: ['demo/lorem'] }))
  expect(
    quote.route.map(({ provider, model }: { provider: string; model: string }) => [
      provider,
      model,
    ]),
  ).toEqual([
    ['demo', 'demo/echo'],
    ['other', 'demo/echo'],
    ['demo', 'demo/lorem'],
  ])
})

describe('what a provider would be sent', () => {
  /** Of a vendor whose API has no word for several answers, and of one that has, behind it or not. */
  async function addModel(route: readonly string[]): Promise<void> {
    const { store } = deps
    const baseUrl = server.url.origin
    await store.providers.add(
      aProvider({ name: 'claude', type: 'anthropic', baseUrl }),
      [],
      [],
      anAct(),
    )
    await store.providers.add(
      aProvider({ name: 'own', type: 'openai-compatible', baseUrl }),
      [],
      [],
      anAct(),
    )
    const hops = route.map((provider, at) => ({
      provider,
      upstreamName: 'any',
      position: at + 1,
      weight: 1,
    }))
    await store.models.add(aCard({ id: 'claude/any', provider: 'claude' }), anAct())
    await store.models.route(aRoute('claude/any', hops), anAct())
  }
  let calls: number
  let server: ReturnType<typeof Bun.serve>
  beforeEach(() => {
    calls = 0
    server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => {
        calls++
        return new Response(null, { status: 500 })
      },
    })
    api = openApi(deps)
  })
  afterEach(() => server.stop(true))

  test('is written: what no hop can be told is refused as the request itself is', async () => {
    await addModel(['claude'])
    const key = await deps.issue()
    const body = hello({ model: 'claude/any', n: 4 })
    const { response, quote } = await ask(key, body)
    expect(response.status).toBe(200)
    expect(quote).toMatchObject({ admitted: false, error: { status: 400, param: 'n' } })
    await expectNothingTaken(key)
    const refused = await api.chat(key.bearer, body)
    const { status, ...error } = (quote as unknown as { error: Record<string, unknown> }).error
    expect([refused.status, await refused.json()]).toEqual([
      status,
      expect.objectContaining({ error }),
    ])
    expect(calls).toBe(0)
  })

  test.each([
    [['claude', 'own'], { n: 4 }],
    [['claude'], {}],
  ])('is not sent: a route of %j for %j', async (route, more) => {
    await addModel(route)
    const { quote } = await ask(await deps.issue(), hello({ model: 'claude/any', ...more }))
    expect(quote).toMatchObject({ admitted: true, error: null })
    expect(calls).toBe(0)
  })
})

test('false means an ordinary request', async () => {
  const key = await deps.issue()
  const response = await api.chat(key.bearer, hello(), { 'X-Gateway-Dry-Run': 'false' })
  expect(response.status).toBe(500)
})

test.each(['1', 'yes', 'on', 'true, true', ''])('%j is refused, and nothing runs', async (word) => {
  const key = await deps.issue()
  const response = await api.chat(key.bearer, hello(), { 'X-Gateway-Dry-Run': word })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { code: 'invalid_request', param: 'X-Gateway-Dry-Run' },
  })
  await expectNothingTaken(key)
})
