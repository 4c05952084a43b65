/** Edits that overlap: each changes the fields that it states, and none writes back what another has changed or removed. */

import { describe, expect, test } from 'vitest'
import { modelsOf, providerOf } from '#test/support/catalogue.ts'
import { anAct } from '#test/support/nouns.ts'
import { act, openFurnished, type TestOperatorDeps } from './deps.ts'

const AT = 'https://models.example/v1'
const ACME = { name: 'acme', type: 'openai-compatible', base_url: AT }

test('of a threshold leave a removed webhook removed, and its secret', async () => {
  const deps = await openFurnished()
  await act(deps, 'thresholds.set', { webhook_url: 'https://hooks.example/low' })
  await Promise.all([
    act(deps, 'thresholds.set', { webhook_url: null }),
    act(deps, 'thresholds.set', { email: 'ops@example.org', threshold_usd: '5' }),
  ])
  expect(await act(deps, 'thresholds.show', {})).toMatchObject({
    webhook_url: null,
    email: 'ops@example.org',
    threshold_usd: '5.00',
  })
  const again = await act(deps, 'thresholds.set', { webhook_url: 'https://hooks.example/low' })
  expect(again.webhook_secret).toMatch(/^whsec_/)
})

test('of a provider keep its new address, and pair no credential with another', async () => {
  const deps = await openFurnished()
  await act(deps, 'providers.add', { ...ACME, credential: 'sk-first' })
  const base_url = 'https://moved.example/v1'
  await Promise.all([
    act(deps, 'providers.edit', { name: 'acme', base_url, credential: 'sk-second' }),
    act(deps, 'providers.edit', { name: 'acme', output_bound: 'both' }),
  ])
  expect(await act(deps, 'providers.show', { name: 'acme' })).toMatchObject({
    base_url,
    output_bound: 'both',
  })
  expect(await deps.store.providers.credential('acme')).toBe('sk-second')
  // A credential for the old address arrives while the provider moves to one without.
  await act(deps, 'providers.edit', { name: 'acme', credential: null })
  const [moved, given] = await Promise.allSettled([
    act(deps, 'providers.edit', { name: 'acme', base_url: AT }),
    act(deps, 'providers.edit', { name: 'acme', base_url, credential: 'sk-third' }),
  ])
  expect([moved.status, given.status]).toEqual(['fulfilled', 'fulfilled'])
  expect(providerOf(deps.store, 'acme')?.baseUrl).toBe(base_url)
})

test('of a provider of another type end the catalogue’s bounds, and a vendor’s bring them back', async () => {
  const deps = await openFurnished()
  await act(deps, 'providers.add', { name: 'openai', credential: null })
  const catalogued = async () =>
    new Set(
      modelsOf(deps.store).flatMap((card) =>
        card.provider === 'openai' ? [card.isCatalogued] : [],
      ),
    )
  expect(await catalogued()).toEqual(new Set([true]))
  const compatible = { type: 'openai-compatible', base_url: AT }
  await act(deps, 'providers.edit', { name: 'openai', ...compatible })
  expect(await catalogued()).toEqual(new Set([false]))
  await act(deps, 'providers.edit', { name: 'openai', type: 'openai' })
  expect(await catalogued()).toEqual(new Set([true]))
})

describe('of the catalogue, one after the other or judged by what has passed', () => {
  async function opened(late: boolean) {
    const deps = await openFurnished()
    for (const name of ['beta', 'gamma']) {
      const provider = { name, type: 'openai-compatible', base_url: AT, credential: null }
      await act(deps, 'providers.add', provider)
    }
    if (!late) return deps
    // An engine that answers later: others change the catalogue between what a verb has read and what it changes.
    const { models, providers } = deps.store
    const pause = () => new Promise<void>((resolve) => setImmediate(resolve))
    const store: typeof deps.store = {
      ...deps.store,
      models: {
        ...models,
        price: async (...args) => {
          await pause()
          return await models.price(...args)
        },
        route: async (...args) => {
          await pause()
          return await models.route(...args)
        },
      },
      providers: {
        ...providers,
        edit: async (...args) => {
          await pause()
          return await providers.edit(...args)
        },
      },
    }
    return { ...deps, store }
  }

  test.each([false, true])(
    'no hop, price or address is lost (an engine that answers later: %s)',
    async (late) => {
      const deps = await opened(late)
      const model = 'demo/echo'
      await Promise.all([
        act(deps, 'models.route.set', { model, provider: 'beta' }),
        act(deps, 'models.route.set', { model, provider: 'gamma', weight: 3 }),
        act(deps, 'models.price', { model, in_usd: '7' }),
        act(deps, 'models.price', { model, out_usd: '9' }),
        act(deps, 'providers.edit', { name: 'beta', base_url: 'https://moved.example/v1' }),
        act(deps, 'providers.edit', { name: 'beta', output_bound: 'both' }),
      ])
      const shown = await act(deps, 'models.show', { model })
      expect(shown.price).toMatchObject({ in_usd: '7', out_usd: '9' })
      expect(shown.route.map(({ provider }) => provider).toSorted()).toEqual([
        'beta',
        'demo',
        'gamma',
      ])
      expect(await act(deps, 'providers.show', { name: 'beta' })).toMatchObject({
        base_url: 'https://moved.example/v1',
        output_bound: 'both',
      })
      await Promise.all([
        act(deps, 'models.route.drop', { model, provider: 'beta' }),
        act(deps, 'models.route.set', { model, provider: 'gamma', weight: 4 }),
      ])
      expect((await act(deps, 'models.show', { model })).route).toMatchObject([
        { provider: 'demo' },
        { provider: 'gamma', weight: 4 },
      ])
    },
  )
})

describe('of what was read a moment before', () => {
  /** The store, to which another change is made just before the first call of one port method. */
  async function opened<Port extends 'models' | 'providers' | 'rates'>(
    port: Port,
    method: keyof TestOperatorDeps['store'][Port],
    change: (deps: TestOperatorDeps) => Promise<unknown>,
  ): Promise<TestOperatorDeps> {
    const deps = await openFurnished()
    await act(deps, 'providers.add', { ...ACME, credential: null })
    let changed: Promise<unknown> | undefined
    const ports = deps.store[port]
    const call = ports[method] as (...args: unknown[]) => Promise<unknown>
    const late = async (...args: unknown[]): Promise<unknown> => {
      changed ??= change(deps)
      await changed
      return await call(...args)
    }
    return { ...deps, store: { ...deps.store, [port]: { ...ports, [method]: late } } }
  }
  const newest = async (deps: TestOperatorDeps) =>
    (await act(deps, 'acts.list', { limit: 1 }))[0]?.changed

  test('a rate follows the one that came between', async () => {
    const set = (deps: TestOperatorDeps, rub_per_usd: string) =>
      act(deps, 'rates.set', { pair: 'USD/RUB', rub_per_usd })
    const deps = await opened('rates', 'set', (between) => set(between, '92'))
    expect(await set(deps, '93')).toMatchObject({ previous: { rub_per_usd: '92' } })
    expect(await newest(deps)).toMatchObject({ rub_per_usd: { from: '92', to: '93' } })
  })

  test('a provider is removed with all that it has by then', async () => {
    const deps = await opened('providers', 'remove', (between) =>
      act(between, 'models.add', { model: 'acme/m', in_usd: '1', out_usd: '1' }),
    )
    expect(await act(deps, 'providers.remove', { name: 'acme' })).toMatchObject({ models: 1 })
    expect(await newest(deps)).toMatchObject({ removed: true, models: 1 })
  })

  test('a model is removed as it is by then', async () => {
    const upstream = 'echo-2'
    const deps = await opened('models', 'remove', ({ store }) =>
      store.models.amend('demo/echo', { upstreamName: upstream }, anAct()),
    )
    const removed = await act(deps, 'models.remove', { model: 'demo/echo' })
    expect(removed).toMatchObject({ removed: true, upstream })
    expect(await newest(deps)).toMatchObject({ removed: true, upstream })
  })
})

test('a provider that takes no bound sells no test', async () => {
  const deps = await openFurnished()
  await act(deps, 'providers.add', { ...ACME, credential: null, output_bound: 'none' })
  await act(deps, 'models.add', { model: 'acme/m', in_usd: '1', out_usd: '1' })
  await expect(
    act(deps, 'providers.test', { name: 'acme', model: 'acme/m', spend: true }),
  ).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('output bound none'),
    details: { param: 'spend' },
  })
})
