/** Routes through their verbs: hops added, changed, dropped and read back, with the health that a running server knows. */
import { describe, expect, test } from 'vitest'
import { createHopHealth } from '#domain/hop-health.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import type { Office } from '#operator/office.ts'
import { restingWatch } from '#test/support/resting-watch.ts'
import { act, openFurnished, type TestOffice } from './office.ts'

const MODEL = 'demo/echo'
const OWN = { position: 1, weight: 1, provider: 'demo', upstream: 'echo', health: null }

async function openWithProviders(...names: readonly string[]): Promise<TestOffice> {
  const office = await openFurnished()
  for (const name of names) {
    await act(office, 'providers.add', { name, base_url: 'http://h', credential: null })
  }
  return office
}

const set = (office: Office, hop: object) =>
  act(office, 'models.route.set', { model: MODEL, provider: 'acme', ...hop })

/** "1×1 demo/echo" for each hop. */
const hops = async (office: Office): Promise<readonly string[]> =>
  (await act(office, 'models.route.show', { model: MODEL })).hops.map(
    ({ position, weight, provider, upstream }) => `${position}×${weight} ${provider}/${upstream}`,
  )

const refusal = async (promise: Promise<unknown>): Promise<Error> => {
  const thrown = await promise.then(() => null).catch((error: Error) => error)
  if (thrown === null) throw new Error('it was not refused')
  return thrown
}

describe('a route', () => {
  test('that nobody set is the own provider alone', async () => {
    const office = await openWithProviders()
    expect(await act(office, 'models.route.show', { model: MODEL })).toEqual({
      model: MODEL,
      hops: [OWN],
    })
  })

  test('keeps the own provider first, and puts each further one behind the last', async () => {
    const office = await openWithProviders('acme', 'beta')
    expect(await set(office, {})).toEqual({
      model: MODEL,
      hops: [OWN, { position: 2, weight: 1, provider: 'acme', upstream: 'echo', health: null }],
    })
    await set(office, { provider: 'beta', upstream: 'echo-eu', weight: 3 })
    expect(await hops(office)).toEqual(['1×1 demo/echo', '2×1 acme/echo', '3×3 beta/echo-eu'])
  })

  test('is changed where it is stated, and stays where it is not', async () => {
    const office = await openWithProviders('acme')
    await set(office, { upstream: 'echo-eu', position: 1, weight: 4 })
    expect(await hops(office)).toEqual(['1×4 acme/echo-eu', '1×1 demo/echo'])
    await set(office, { weight: 2 })
    expect(await hops(office)).toEqual(['1×2 acme/echo-eu', '1×1 demo/echo'])
    await set(office, { provider: 'demo', position: 7 })
    expect(await hops(office)).toEqual(['1×2 acme/echo-eu', '7×1 demo/echo'])
    await set(office, { upstream: 'echo-us' })
    expect(await hops(office)).toEqual(['1×2 acme/echo-us', '7×1 demo/echo'])
  })

  test('loses a hop, but not the last', async () => {
    const office = await openWithProviders('acme')
    await set(office, {})
    const drop = (provider: string) => act(office, 'models.route.drop', { model: MODEL, provider })
    await drop('demo')
    expect(await hops(office)).toEqual(['2×1 acme/echo'])
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
    expect(await hops(office)).toEqual(['2×1 acme/echo'])
  })

  test('whose own provider is its last hop needs another one first', async () => {
    const office = await openWithProviders()
    const drop = act(office, 'models.route.drop', { model: MODEL, provider: 'demo' })
    expect(await refusal(drop)).toMatchObject({
      code: 'invalid_request',
      details: { hint: expect.stringContaining('--via PROVIDER') },
    })
  })

  test('goes back to the own provider alone', async () => {
    const office = await openWithProviders('acme')
    await set(office, {})
    await act(office, 'models.route.drop', { model: MODEL, provider: 'demo' })
    expect(await act(office, 'models.route.reset', { model: MODEL })).toEqual({
      model: MODEL,
      hops: [OWN],
    })
    expect((await office.store.models.find(MODEL))?.route).toEqual([])
  })

  test('is part of the model’s record', async () => {
    const office = await openWithProviders('acme')
    await set(office, { upstream: 'echo-eu' })
    expect(await act(office, 'models.show', { model: MODEL })).toMatchObject({
      provider: 'demo',
      upstream: 'echo',
      route: [
        { position: 1, weight: 1, provider: 'demo', upstream: 'echo' },
        { position: 2, weight: 1, provider: 'acme', upstream: 'echo-eu' },
      ],
    })
    const served = await act(office, 'models.list', { provider: 'acme' })
    expect(served.map(({ id }) => id)).toEqual([MODEL])
    expect(await act(office, 'providers.show', { name: 'acme' })).toMatchObject({
      models: 0,
      routed_models: 1,
    })
    expect(await act(office, 'providers.show', { name: 'demo' })).toMatchObject({
      models: 4,
      routed_models: 0,
    })
  })

  test('loses the hops of a provider that is removed', async () => {
    const office = await openWithProviders('acme')
    await set(office, {})
    await act(office, 'providers.remove', { name: 'acme' })
    expect(await hops(office)).toEqual(['1×1 demo/echo'])
  })

  test('has an end', async () => {
    const names = Array.from({ length: 16 }, (_, n) => `p${n}`)
    const office = await openWithProviders(...names)
    for (const provider of names.slice(0, 15)) await set(office, { provider })
    expect(await refusal(set(office, { provider: 'p15' }))).toMatchObject({
      code: 'invalid_request',
      message: `${MODEL} has 16 hops, which is the most`,
    })
    await set(office, { provider: 'p14', weight: 2 })
    expect(await hops(office)).toHaveLength(16)
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
  const office = await openWithProviders('acme')
  expect(await refusal(set(office, hop))).toMatchObject({ code })
  expect(await hops(office)).toEqual(['1×1 demo/echo'])
})

describe('health', () => {
  /** An office whose server has just seen acme fail three times, acme's other model once, and beta once. */
  async function openAiling(): Promise<Office> {
    const office = await openWithProviders('acme', 'beta')
    await set(office, { upstream: 'echo-eu' })
    await set(office, { provider: 'beta' })
    const health = createHopHealth(office.clock)
    const card = await office.store.models.find(MODEL)
    if (!card) throw new Error('the demo has no echo')
    const fail = async (name: string, upstreamName: string): Promise<void> => {
      const provider = await office.store.providers.find(name)
      if (!provider) throw new Error(`there is no ${name}`)
      health.failed(
        { card: { ...card, upstreamName }, provider },
        new UpstreamFailure('failed', 'broken'),
      )
    }
    for (let i = 0; i < 3; i++) await fail('acme', 'echo-eu')
    await fail('acme', 'large')
    await fail('beta', 'echo')
    const live = {
      listen: 'h:1',
      baseUrl: 'http://h:1/v1',
      authUrl: null,
      pid: 7,
      startedAt: office.clock.now(),
      inFlight: () => 0,
      hops: health.readings,
      watch: restingWatch(),
    }
    return { ...office, live }
  }
  const WELL = { state: 'serving', failures_in_a_row: 0, rests_until: null }
  const RESTS = { state: 'resting', failures_in_a_row: 3, rests_until: '2026-08-23T12:00:05Z' }

  test('of each hop is in its route', async () => {
    const office = await openAiling()
    const { hops: shown } = await act(office, 'models.route.show', { model: MODEL })
    expect(shown.map(({ health }) => health)).toEqual([
      WELL,
      RESTS,
      { ...WELL, failures_in_a_row: 1 },
    ])
  })

  test('is of a hop, not of whatever else the provider serves', async () => {
    const office = await openAiling()
    await set(office, { upstream: 'echo' })
    const { hops: shown } = await act(office, 'models.route.show', { model: MODEL })
    expect(shown[1]).toMatchObject({ provider: 'acme', health: WELL })
  })

  test('of each provider is in the status', async () => {
    const office = await openAiling()
    const { providers } = await act(office, 'status', {})
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
    const { providers: unknown } = await act({ ...office, live: null }, 'status', {})
    expect(unknown.map(({ health }) => health)).toEqual([null, null, null])
  })

  test('has the doctor warn of a model that only resting hops serve', async () => {
    const office = await openAiling()
    const routes = async () =>
      (await act(office, 'doctor', {})).findings.filter(({ check }) => check === 'routes')
    expect(await routes()).toMatchObject([{ level: 'ok', next: null }])
    for (const provider of ['demo', 'beta']) {
      await act(office, 'models.route.drop', { model: MODEL, provider })
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
