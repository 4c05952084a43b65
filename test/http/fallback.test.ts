// Fallbacks: another model may answer until the first content arrives, and only the model that answered is charged.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ModelCard } from '#domain/model-card.ts'
import type { UsdAttos } from '#domain/money.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import { modelOf } from '#test/support/catalogue.ts'
import { type Furnished, furnish, hello, openApi, type TestKey } from '#test/support/furnish.ts'
import { anAct } from '#test/support/nouns.ts'
import {
  eventually,
  finish,
  never,
  type Script,
  script,
  text,
  until,
} from '#test/support/scripted-upstream.ts'

let deps: Furnished
let key: TestKey

/** Twice the price of `demo/echo`, at a provider of its own. */
const SPARE = 'spare/echo'

const doubled = (price: UsdAttos): UsdAttos => (price * 2n) as UsdAttos

beforeEach(async () => {
  deps = await furnish()
  key = await deps.issue()
  const at = deps.clock.now()
  const echo = modelOf(deps.store, 'demo/echo') as ModelCard
  const [price] = echo.prices
  if (!price) throw new Error('the demo has no price')
  const prices = {
    ...price.prices,
    prompt: doubled(price.prices.prompt),
    completion: doubled(price.prices.completion),
  }
  const spare = {
    name: 'spare',
    type: 'openai-compatible',
    outputBound: null,
    learnedBound: null,
  } as const
  await deps.store.providers.add(
    { ...spare, baseUrl: 'http://127.0.0.1:9/v1', createdAt: at },
    [],
    [],
    anAct(),
  )
  const card = { ...echo, provider: 'spare' }
  await deps.store.models.add(
    {
      ...card,
      id: SPARE,
      prices: [{ ...price, id: 'price_spare', prices }],
    },
    anAct(),
  )
  await deps.store.models.add({ ...card, id: 'spare/unpriced', prices: [] }, anAct())
})
afterEach(() => deps.store.close())

const COUNTED = { type: 'usage', usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 5 } } as const

const answers = (words: string): Script =>
  script(async function* () {
    yield [text(words), finish(), COUNTED]
  })

const refusesToOpen = (kind: 'failed' | 'overloaded' | 'rejected' = 'failed'): Script =>
  script(
    async function* () {},
    async () => {
      throw new UpstreamFailure(kind, 'not today')
    },
  )

/** The API with providers that each play a script of their own. */
function api(demo: Script, spare: Script) {
  const scripts: Readonly<Record<string, Script>> = { demo, spare }
  return openApi(deps, {
    upstreamFor: ({ name }) => (scripts[name] as Script).upstream,
  })
}

const ask = (demo: Script, spare: Script, more: object = {}) =>
  api(demo, spare).chat(key.bearer, hello({ models: [SPARE], ...more }))

/** The charges in nano-dollars, after checking that no hold or slot remains. */
async function charged(): Promise<bigint> {
  await eventually(
    async () => (await deps.store.health({ checkIntegrity: false })).openHolds === 0,
    'every hold is resolved',
  )
  const entries = await deps.store.ledger.list({ kind: 'charge', limit: 10 })
  expect(entries.length).toBeLessThanOrEqual(1)
  return -(entries[0]?.amount ?? 0n)
}

/** 10 in at $1/M and 5 out at $2/M. */
const AT_DEMO = 20_000n
const AT_SPARE = 40_000n

describe('a model that fails before its first content', () => {
  test.each(['failed', 'overloaded', 'rejected'] as const)(
    'T21: %s: the next model answers, is named in the response and is charged',
    async (kind) => {
      const spare = answers('from the spare')
      const response = await ask(refusesToOpen(kind), spare)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        model: SPARE,
        provider: 'spare',
        choices: [{ message: { content: 'from the spare' } }],
        usage: { cost: 0.00004 },
      })
      expect(await charged()).toBe(AT_SPARE)
      expect((await deps.store.activity.list({ limit: 2 }))[0]).toMatchObject({ model: SPARE })
    },
  )

  test('falls back in a stream too', async () => {
    const demo = script(async function* () {
      yield [COUNTED]
      throw new UpstreamFailure('failed', 'broke off')
    })
    const response = await ask(demo, answers('streamed'), { stream: true })
    const body = await response.text()
    expect(body).toContain('"content":"streamed"')
    expect(body).not.toContain('demo/echo')
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(await charged()).toBe(AT_SPARE)
    expect(demo.over).toBe(true)
  })

  test('that ends without any content has failed', async () => {
    const response = await ask(
      script(async function* () {}),
      answers('something'),
    )
    expect(response.status).toBe(200)
    expect(await charged()).toBe(AT_SPARE)
  })

  test('when all models fail, the last failure is returned and nothing is charged', async () => {
    const response = await ask(refusesToOpen('failed'), refusesToOpen('overloaded'))
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'upstream_overloaded' } })
    expect(await charged()).toBe(0n)
  })
})

describe('no fallback', () => {
  test('after the first content: what arrived is charged to the model that sent it', async () => {
    const spare = answers('too late')
    const demo = script(async function* () {
      yield [text('half an answer')]
      yield [COUNTED]
      throw new UpstreamFailure('failed', 'broke off')
    })
    const body = await (await ask(demo, spare, { stream: true })).text()
    expect(body).toContain('half an answer')
    expect(body).toContain('"finish_reason":"error"')
    expect(spare.calls).toHaveLength(0)
    expect(await charged()).toBe(AT_DEMO)
  })

  test.each([{ allow_fallbacks: false }, { provider: { allow_fallbacks: false } }])(
    'with %j: there is exactly one attempt',
    async (routing) => {
      const spare = answers('unasked')
      const response = await ask(refusesToOpen(), spare, routing)
      expect(response.status).toBe(502)
      expect(spare.calls).toHaveLength(0)
      expect(await charged()).toBe(0n)
    },
  )

  test('T21: to a model that the key may not call, that has no price, or that does not exist', async () => {
    key = await deps.issue({ allowedModels: ['demo/*', 'spare/unpriced'] })
    const spare = answers('not for you')
    const models = [SPARE, 'spare/unpriced', 'spare/nothing']
    const response = await ask(refusesToOpen(), spare, { models })
    expect(response.status).toBe(502)
    expect(spare.calls).toHaveLength(0)
  })

  test('from a model that the key may not call: the request is refused', async () => {
    key = await deps.issue({ allowedModels: ['spare/*'] })
    const spare = answers('not asked')
    const response = await ask(answers('nor this'), spare)
    expect(response.status).toBe(403)
    expect(spare.calls).toHaveLength(0)
  })

  test('for a client that disconnects during the first attempt', async () => {
    const spare = answers('for nobody')
    const demo = script(
      async function* () {},
      (call) => until(never, call),
    )
    const leaving = new AbortController()
    const request = new Request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...key.bearer },
      body: JSON.stringify(hello({ models: [SPARE] })),
      signal: leaving.signal,
    })
    const answer = api(demo, spare).app.fetch(request)
    await eventually(() => demo.calls.length === 1, 'the first is asked')
    leaving.abort()
    await answer
    expect(await charged()).toBeGreaterThan(0n)
    expect(spare.calls).toHaveLength(0)
  })
})

describe('provider preferences', () => {
  test.each([
    [{ only: ['spare'] }, SPARE],
    [{ ignore: ['demo'] }, SPARE],
    [{ order: ['spare'] }, SPARE],
    [{ order: ['unknown', 'demo'] }, 'demo/echo'],
    [{}, 'demo/echo'],
  ])('provider %j: %s answers', async (provider, model) => {
    const response = await ask(answers('demo'), answers('spare'), { provider })
    expect(await response.json()).toMatchObject({ model })
  })

  test('that leave no provider are refused, and consume nothing', async () => {
    const response = await ask(answers('demo'), answers('spare'), { provider: { only: ['x'] } })
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'no_route_available' } })
    expect(await deps.store.activity.list({ limit: 5 })).toMatchObject([{ endedBy: 'refused' }])
  })
})

test('the hold is that of the most expensive model that may answer', async () => {
  const held: bigint[] = []
  const watch = script(async function* () {
    const usage = await deps.store.admissions.usage(key.key.id, deps.clock.now())
    held.push(usage.reserved)
    yield [text('x'), finish(), COUNTED]
  })
  await (await ask(watch, watch, { max_tokens: 100 })).text()
  await (await ask(watch, watch, { max_tokens: 100, models: [] })).text()
  const [withSpare, alone] = held as [bigint, bigint]
  // The bodies differ only in the bytes that name the fallback.
  expect(Number(withSpare) / Number(alone)).toBeCloseTo(2, 0)
  expect(withSpare).toBeGreaterThan(alone)
})
