/** Routes through their verbs: hops added, changed, dropped and read back, with the health that a running server knows. */

import { describe, expect, test } from 'vitest'
import { draftEvent } from '#domain/event.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import { modelOf, providerOf } from '#test/support/catalogue.ts'
import { restingWatch } from '#test/support/resting-watch.ts'
import { act, openFurnished, serving, type TestOperatorDeps } from './deps.ts'

const MODEL = 'demo/echo'
const OWN = {
  position: 1,
  weight: 1,
  provider: 'demo',
  upstream: 'echo',
  health: null,
  first_content_ms: null,
}

async function openWithProviders(...names: readonly string[]): Promise<TestOperatorDeps> {
  const deps = await openFurnished()
  for (const name of names) {
    await act(deps, 'providers.add', { name, base_url: 'http://h', credential: null })
  }
  return deps
}

const set = (deps: OperatorDeps, hop: object) =>
  act(deps, 'models.route.set', { model: MODEL, provider: 'acme', ...hop })

/** "1×1 demo/echo" for each hop. */
const hops = async (deps: OperatorDeps): Promise<readonly string[]> =>
  (await act(deps, 'models.route.show', { model: MODEL })).hops.map(
    ({ position, weight, provider, upstream }) => `${position}×${weight} ${provider}/${upstream}`,
  )

const refusal = async (promise: Promise<unknown>): Promise<Error> => {
  const thrown = await promise.then(() => null).catch((error: Error) => error)
  if (thrown === null) throw new Error('it was not refused')
  return thrown
}

describe('a route', () => {
  test('that nobody set is the own provider alone', async () => {
    const deps = await openWithProviders()
    expect(await act(deps, 'models.route.show', { model: MODEL })).toEqual({
      model: MODEL,
      routed_by: null,
      order: 'weight',
      models: 1,
      hops: [OWN],
    })
  })

  test('keeps the own provider first, and puts each further one behind the last', async () => {
    const deps = await openWithProviders('acme', 'beta')
    expect(await set(deps, {})).toEqual({
      model: MODEL,
      routed_by: MODEL,
      order: 'weight',
      models: 1,
      hops: [
        OWN,
        {
          position: 2,
          weight: 1,
          provider: 'acme',
          upstream: 'echo',
          health: null,
          first_content_ms: null,
        },
      ],
    })
    await set(deps, { provider: 'beta', upstream: 'echo-eu', weight: 3 })
    expect(await hops(deps)).toEqual(['1×1 demo/echo', '2×1 acme/echo', '3×3 beta/echo-eu'])
  })

  test('is changed where it is stated, and stays where it is not', async () => {
    const deps = await openWithProviders('acme')
    await set(deps, { upstream: 'echo-eu', position: 1, weight: 4 })
    expect(await hops(deps)).toEqual(['1×4 acme/echo-eu', '1×1 demo/echo'])
    await set(deps, { weight: 2 })
    expect(await hops(deps)).toEqual(['1×2 acme/echo-eu', '1×1 demo/echo'])
    await set(deps, { provider: 'demo', position: 7 })
    expect(await hops(deps)).toEqual(['1×2 acme/echo-eu', '7×1 demo/echo'])
    await set(deps, { upstream: 'echo-us' })
    expect(await hops(deps)).toEqual(['1×2 acme/echo-us', '7×1 demo/echo'])
  })

  test('loses a hop, but not the last', async () => {
    const deps = await openWithProviders('acme')
    await set(deps, {})
    const drop = (provider: string) => act(deps, 'models.route.drop', { model: MODEL, provider })
    await drop('demo')
    expect(await hops(deps)).toEqual(['2×1 acme/echo'])
    expect(await refusal(drop('acme'))).toMatchObject({
      code: 'invalid_request',
      message: `acme is the last hop of ${MODEL}: nobody would serve it`,
      details: { hint: `gatewayctl models route ${MODEL} --reset goes back to demo` },
    })
    expect(await refusal(drop('demo'))).toMatchObject({
      code: 'provider_not_found',
      details: { hint: `gatewayctl models route ${MODEL}` },
    })
    expect((await refusal(drop('acmee'))).message).toContain('did you mean acme?')
    expect(await hops(deps)).toEqual(['2×1 acme/echo'])
  })

  test('whose own provider is its last hop needs another one first', async () => {
    const deps = await openWithProviders()
    const drop = act(deps, 'models.route.drop', { model: MODEL, provider: 'demo' })
    expect(await refusal(drop)).toMatchObject({
      code: 'invalid_request',
      details: { hint: expect.stringContaining('--via PROVIDER') },
    })
  })

  test('goes back to the own provider alone', async () => {
    const deps = await openWithProviders('acme')
    await set(deps, {})
    await act(deps, 'models.route.drop', { model: MODEL, provider: 'demo' })
    expect(await act(deps, 'models.route.reset', { model: MODEL })).toMatchObject({
      model: MODEL,
      routed_by: null,
      hops: [OWN],
    })
    expect(modelOf(deps.store, MODEL)?.route).toEqual([])
  })

  test('is part of the model’s record', async () => {
    const deps = await openWithProviders('acme')
    await set(deps, { upstream: 'echo-eu' })
    expect(await act(deps, 'models.show', { model: MODEL })).toMatchObject({
      provider: 'demo',
      upstream: 'echo',
      route: [
        { position: 1, weight: 1, provider: 'demo', upstream: 'echo' },
        { position: 2, weight: 1, provider: 'acme', upstream: 'echo-eu' },
      ],
    })
    const served = await act(deps, 'models.list', { provider: 'acme' })
    expect(served.map(({ id }) => id)).toEqual([MODEL])
    expect(await act(deps, 'providers.show', { name: 'acme' })).toMatchObject({
      models: 0,
      routed_models: 1,
    })
    expect(await act(deps, 'providers.show', { name: 'demo' })).toMatchObject({
      models: 4,
      routed_models: 0,
    })
  })

  test('loses the hops of a provider that is removed', async () => {
    const deps = await openWithProviders('acme')
    await set(deps, {})
    await act(deps, 'providers.remove', { name: 'acme' })
    expect(await hops(deps)).toEqual(['1×1 demo/echo'])
  })

  test('has an end', async () => {
    const names = Array.from({ length: 16 }, (_, n) => `p${n}`)
    const deps = await openWithProviders(...names)
    for (const provider of names.slice(0, 15)) await set(deps, { provider })
    expect(await refusal(set(deps, { provider: 'p15' }))).toMatchObject({
      code: 'invalid_request',
      message: `${MODEL} has 16 hops, which is the most`,
    })
    await set(deps, { provider: 'p14', weight: 2 })
    expect(await hops(deps)).toHaveLength(16)
  })
})

test.each([
  [{ model: 'demo/ecko' }, 'model_not_found'],
  [{ provider: 'acmee' }, 'provider_not_found'],
  [{ position: 0 }, 'invalid_request'],
  [{ position: 1_001 }, 'invalid_request'],
  [{ weight: 1.5 }, 'invalid_request'],
  [{ weight: -1 }, 'invalid_request'],
  [{ upstream: '' }, 'invalid_request'],
  [{ order: 1 }, 'invalid_request'],
])('%j is %s, and nothing changes', async (hop, code) => {
  const deps = await openWithProviders('acme')
  expect(await refusal(set(deps, hop))).toMatchObject({ code })
  expect(await hops(deps)).toEqual(['1×1 demo/echo'])
})

test('a provider that is removed leaves no bill behind that differs for ever', async () => {
  const deps = await openWithProviders('acme', 'beta')
  const span = { since: '2026-07-01T00:00:00Z', until: '2026-08-01T00:00:00Z' }
  for (const provider of ['acme', 'beta']) {
    const facts = { provider, ...span, unexplained_usd: '3', tolerance_percent: '0.1' }
    await deps.store.events.raise(draftEvent('gateway.bill_differs', facts, deps.clock.now()), null)
  }
  await act(deps, 'providers.remove', { name: 'acme' })
  const open = (await act(deps, 'notices.list', {})).filter(({ state }) => state === 'open')
  expect(open.map(({ facts }) => facts['provider'])).toEqual(['beta'])
})

describe('health', () => {
  /** A gateway whose server has just seen acme fail three times, acme's other model once, and beta once. */
  async function openAiling(): Promise<OperatorDeps> {
    const deps = await openWithProviders('acme', 'beta')
    await set(deps, { upstream: 'echo-eu' })
    await set(deps, { provider: 'beta' })
    const health = createHopHealth(deps.clock)
    const card = modelOf(deps.store, MODEL)
    if (!card) throw new Error('the demo has no echo')
    const fail = async (name: string, upstreamName: string): Promise<void> => {
      const provider = providerOf(deps.store, name)
      if (!provider) throw new Error(`there is no ${name}`)
      health.failed(
        { card: { ...card, upstreamName }, provider, credential: null },
        new UpstreamFailure('failed', 'broken'),
      )
    }
    for (let i = 0; i < 3; i++) await fail('acme', 'echo-eu')
    await fail('acme', 'large')
    await fail('beta', 'echo')
    const live = serving({
      hops: health.readings,
      paces: health.pace.readings,
      credentials: health.credentials,
    })
    return { ...deps, live, watch: restingWatch() }
  }
  const WELL = { state: 'serving', failures_in_a_row: 0, rests_until: null }
  const RESTS = { state: 'resting', failures_in_a_row: 3, rests_until: '2026-08-23T12:00:05Z' }

  test('of each hop is in its route', async () => {
    const deps = await openAiling()
    const { hops: shown } = await act(deps, 'models.route.show', { model: MODEL })
    expect(shown.map(({ health }) => health)).toEqual([
      WELL,
      RESTS,
      { ...WELL, failures_in_a_row: 1 },
    ])
  })

  test('is of a hop, not of whatever else the provider serves', async () => {
    const deps = await openAiling()
    await set(deps, { upstream: 'echo' })
    const { hops: shown } = await act(deps, 'models.route.show', { model: MODEL })
    expect(shown[1]).toMatchObject({ provider: 'acme', health: WELL })
  })

  test('of each provider is in the status', async () => {
    const deps = await openAiling()
    const { providers } = await act(deps, 'status', {})
    expect(providers.map(({ name, health }) => [name, health])).toEqual([
      [
        'acme',
        {
          ...RESTS,
          hops: [
            { upstream: 'echo-eu', ...RESTS },
            { upstream: 'large', ...WELL, failures_in_a_row: 1 },
          ],
        },
      ],
      [
        'beta',
        {
          ...WELL,
          failures_in_a_row: 1,
          hops: [{ upstream: 'echo', ...WELL, failures_in_a_row: 1 }],
        },
      ],
      ['demo', { ...WELL, hops: [] }],
    ])
    const { providers: unknown } = await act({ ...deps, live: null }, 'status', {})
    expect(unknown.map(({ health }) => health)).toEqual([null, null, null])
  })

  test('of each provider and credential is that of the process that thinks worst of it, once', async () => {
    const deps = await openAiling()
    const { live } = deps
    if (!live) throw new Error('no server runs')
    const name = 'several'
    await act(deps, 'providers.add', { name, base_url: 'http://h', credential: 'sk-several-1' })
    await act(deps, 'providers.credentials.set', { provider: name, name: 'eu', credential: 'sk-2' })
    const rests = live.hops().find(({ upstreamName }) => upstreamName === 'echo-eu')
    if (!rests) throw new Error('nothing rests')
    const well = { ...rests, failures: 1, restsUntil: null }
    const two = {
      ...live,
      hops: () => [well, rests],
      credentials: () => [well, rests].map((one) => ({ ...one, provider: name, credential: 'eu' })),
    }
    const { providers } = await act({ ...deps, live: two }, 'status', {})
    const acme = providers.find((one) => one.name === 'acme')
    expect(acme?.health?.hops).toEqual([{ upstream: 'echo-eu', ...RESTS }])
    const listed = await act({ ...deps, live: two }, 'providers.credentials.list', {
      provider: name,
    })
    expect(listed.credentials.map(({ health }) => health)).toEqual([WELL, RESTS])
  })

  test('has the doctor warn of a model that only resting hops serve', async () => {
    const deps = await openAiling()
    const routes = async () =>
      (await act(deps, 'doctor', {})).findings.filter(({ check }) => check === 'routes')
    expect(await routes()).toMatchObject([{ level: 'ok', next: null }])
    for (const provider of ['demo', 'beta']) {
      await act(deps, 'models.route.drop', { model: MODEL, provider })
    }
    expect(await routes()).toMatchObject([
      {
        level: 'warning',
        message: expect.stringContaining(MODEL),
        next: `gatewayctl models route ${MODEL}`,
      },
    ])
  })
})

describe('the route of a mask', () => {
  const via = (deps: OperatorDeps, model: string, provider: string, more: object = {}) =>
    act(deps, 'models.route.set', { model, provider, ...more })

  const servedBy = async (deps: OperatorDeps, model = MODEL) => {
    const { routed_by, hops: all } = await act(deps, 'models.route.show', { model })
    return [routed_by, ...all.map(({ provider, upstream }) => `${provider}/${upstream}`)]
  }

  test('is that of every model it matches: its own provider first, by its own name', async () => {
    const deps = await openWithProviders('acme')
    await act(deps, 'models.add', { model: 'acme/m', in_usd: '1', out_usd: '2' })
    expect(await via(deps, 'demo/*', 'acme', { upstream: 'demo/*' })).toEqual({
      model: 'demo/*',
      routed_by: 'demo/*',
      order: 'weight',
      models: 4,
      hops: [
        {
          position: 1,
          weight: 1,
          provider: '*',
          upstream: '*',
          health: null,
          first_content_ms: null,
        },
        {
          position: 2,
          weight: 1,
          provider: 'acme',
          upstream: 'demo/*',
          health: null,
          first_content_ms: null,
        },
      ],
    })
    expect(await servedBy(deps)).toEqual(['demo/*', 'demo/echo', 'acme/demo/echo'])
    expect(await servedBy(deps, 'demo/lorem')).toEqual(['demo/*', 'demo/lorem', 'acme/demo/lorem'])
    expect(await servedBy(deps, 'acme/m')).toEqual([null, 'acme/m'])
    expect(await act(deps, 'models.show', { model: MODEL })).toMatchObject({ routed_by: 'demo/*' })
    await act(deps, 'models.add', { model: 'demo/late', in_usd: '1', out_usd: '2' })
    expect(await servedBy(deps, 'demo/late')).toEqual(['demo/*', 'demo/late', 'acme/demo/late'])
  })

  test('gives way to a longer mask, and to a route of the model’s own, which begins as it is', async () => {
    const deps = await openWithProviders('acme', 'beta', 'gamma')
    await via(deps, '*', 'acme')
    await via(deps, 'demo/e*', 'beta')
    expect(await servedBy(deps)).toEqual(['demo/e*', 'demo/echo', 'beta/echo'])
    expect(await servedBy(deps, 'demo/lorem')).toEqual(['*', 'demo/lorem', 'acme/lorem'])
    await via(deps, MODEL, 'gamma')
    expect(await servedBy(deps)).toEqual([MODEL, 'demo/echo', 'beta/echo', 'gamma/echo'])
    const listed = await act(deps, 'models.route.list', {})
    expect(listed.map(({ model, models }) => [model, models])).toEqual([
      ['*', 3],
      ['demo/e*', 0],
      [MODEL, 1],
    ])
    await act(deps, 'models.route.reset', { model: MODEL })
    expect(await servedBy(deps)).toEqual(['demo/e*', 'demo/echo', 'beta/echo'])
    await act(deps, 'models.route.reset', { model: 'demo/e*' })
    expect(await servedBy(deps)).toEqual(['*', 'demo/echo', 'acme/echo'])
  })

  test('asks a provider once, as its own where it is that', async () => {
    const deps = await openWithProviders('acme')
    await act(deps, 'models.add', { model: 'acme/m', in_usd: '1', out_usd: '2' })
    await via(deps, '*', 'acme', { upstream: 'far/*', position: 1 })
    expect(await servedBy(deps, 'acme/m')).toEqual(['*', 'acme/m'])
    expect(await servedBy(deps)).toEqual(['*', 'acme/far/echo', 'demo/echo'])
  })

  test('goes with its last provider, and is refused where it is not set, or means nothing', async () => {
    const deps = await openWithProviders('acme')
    await via(deps, 'demo/*', 'acme')
    await act(deps, 'models.route.drop', { model: 'demo/*', provider: '*' })
    expect(await servedBy(deps)).toEqual(['demo/*', 'acme/echo'])
    expect(
      await refusal(act(deps, 'models.route.drop', { model: 'demo/*', provider: 'acme' })),
    ).toMatchObject({
      code: 'invalid_request',
      details: {
        hint: "gatewayctl models route 'demo/*' --reset goes back to their own providers",
      },
    })
    await act(deps, 'providers.remove', { name: 'acme' })
    expect(await act(deps, 'models.route.list', {})).toEqual([])
    for (const verb of ['models.route.show', 'models.route.reset'] as const) {
      expect(await refusal(act(deps, verb, { model: 'demo/*' }))).toMatchObject({
        code: 'model_not_found',
        details: { hint: "gatewayctl models route 'demo/*' --via PROVIDER" },
      })
    }
    expect(await refusal(via(deps, 'demo/*/x', 'demo'))).toMatchObject({ code: 'model_not_found' })
    expect(await refusal(via(deps, MODEL, '*'))).toMatchObject({ code: 'provider_not_found' })
  })

  test('by latency all hops stand beside each other, and a reserve is set behind them', async () => {
    const deps = await openWithProviders('acme', 'beta')
    await via(deps, MODEL, 'acme')
    const order = (to: 'latency' | 'weight') =>
      act(deps, 'models.route.order', { model: MODEL, order: to })
    const positions = async () => (await hops(deps)).map((hop) => hop.slice(0, hop.indexOf('/')))
    expect((await order('latency')).order).toBe('latency')
    expect(await positions()).toEqual(['1×1 acme', '1×1 demo'])
    await via(deps, MODEL, 'beta')
    expect(await positions()).toEqual(['1×1 acme', '1×1 beta', '1×1 demo'])
    await via(deps, MODEL, 'beta', { position: 2 })
    await order('latency')
    expect(await positions()).toEqual(['1×1 acme', '1×1 demo', '2×1 beta'])
    expect(modelOf(deps.store, MODEL)?.routeOrder).toBe('latency')
    expect((await order('weight')).order).toBe('weight')
    expect(await positions()).toEqual(['1×1 acme', '1×1 demo', '2×1 beta'])
  })
})
