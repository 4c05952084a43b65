/** What every engine promises about models, providers and rates. */

import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, instant, later } from '#domain/clock.ts'
import { newPriceVersionId } from '#domain/id.ts'
import { onlyCredential, type Provider } from '#domain/provider.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { OWN } from '#domain/route.ts'
import {
  modelOf,
  modelsOf,
  priceOf,
  providerOf,
  providersOf,
  rateOf,
} from '#test/support/catalogue.ts'
import {
  aCard,
  aClaim,
  aHop,
  anAct,
  aProvider,
  aRoute,
  aVersion,
  factor,
  perM,
  price,
  rate,
} from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function catalogueContract(bench: Bench): void {
  test('is one value, which a change replaces and leaves as it was', async () => {
    const { catalogue, models, providers, rates } = bench.store
    const changes = [
      () => providers.add(aProvider(), [], [], anAct()),
      () => providers.edit('acme', { outputBound: 'both' }, anAct()),
      () => models.add(aCard(), anAct()),
      () => models.price('acme/small', aVersion({}, at()), anAct(at())),
      () =>
        models.refresh(
          { added: [], priced: [{ id: 'acme/small', version: aVersion({}, at()) }] },
          anAct(at()),
        ),
      () => models.amend('acme/small', { name: 'Other' }, anAct()),
      () => models.route(aRoute('acme/small', [aHop()]), anAct()),
      () => models.alias({ name: 'little', model: 'acme/small' }, anAct()),
      () => models.unalias('little', anAct()),
      () => models.unprice('acme/small', anAct()),
      () => rates.set(rate('91'), at(), anAct(at())),
      () => models.remove('acme/small', anAct()),
      () => providers.remove('acme', anAct()),
    ]
    for (const change of changes) {
      const before = catalogue.current()
      const copy = structuredClone(before)
      expect(catalogue.current()).toBe(before)
      await change()
      expect(catalogue.current().version).toBeGreaterThan(before.version)
      expect(before).toEqual(copy)
    }
    const { version } = catalogue.current()
    expect(await codeOf(models.remove('acme/none', anAct()))).toBe('model_not_found')
    expect(catalogue.current().version).toBe(version)
    await bench.restart()
    expect(bench.store.catalogue.current().version).toBe(version)
  })

  const at = () => bench.clock.now()
  /** Providers whatever their revision. */
  const knownProviders = () => providersOf(bench.store).map((one) => ({ ...one, revision: 1 }))
  const known = (name: string) => knownProviders().find((one) => one.name === name)
  const codeOf = async (act: Promise<unknown>) =>
    ((await act.catch((thrown) => thrown)) as { code?: string }).code

  test('stands as its version says: a claim by another takes nothing and is refused nothing', async () => {
    const { key } = await bench.issue({ rpm: 1 })
    await bench.topUp('1')
    const { admissions, catalogue, rates } = bench.store
    const claimNow = () => ({ ...aClaim(key, at()), catalogue: catalogue.current().version })
    const early = claimNow()
    await rates.set(rate('91'), at(), anAct(at()))
    expect(await admissions.judge(early)).toBe('stale')
    expect(await admissions.admit(early)).toBe('stale')
    expect((await admissions.usage(key.id, at())).requestsMinute).toBe(0)
    expect(await admissions.admit(claimNow())).toMatchObject({ admitted: true })
    // Also where it would be refused by now, and of a key that is read for the first time.
    expect(await admissions.admit(early)).toBe('stale')
    const late = claimNow()
    await bench.restart()
    await bench.store.rates.set(rate('92'), at(), anAct(at()))
    expect(await bench.store.admissions.admit(late)).toBe('stale')
  })

  test('changes by what was read of it only while that stands', async () => {
    const { catalogue, models, providers, rates } = bench.store
    await providers.add(aProvider(), [], [aCard()], anAct())
    const read = catalogue.current()
    const { revision = 0 } = providerOf(bench.store, 'acme') ?? {}
    await providers.edit('acme', { outputBound: 'both' }, anAct(), revision)
    const now = catalogue.current()
    const { version } = read
    expect(await models.price('acme/small', aVersion({}, at()), anAct(), version)).toBe('stale')
    expect(await models.unprice('acme/small', anAct(), version)).toBe('stale')
    expect(await models.route(aRoute('acme/small', [aHop()]), anAct(), version)).toBe('stale')
    expect(await models.markCatalogued(['acme/small'], version)).toBe('stale')
    expect(await models.remove('acme/small', anAct(), version)).toBe('stale')
    expect(await providers.edit('acme', { credentials: [] }, anAct(), revision)).toBe('stale')
    expect(await providers.remove('acme', anAct(), version)).toBe('stale')
    expect(await rates.set(rate('91'), at(), anAct(at()), version)).toBe('stale')
    expect(catalogue.current()).toEqual(now)
    const routed = models.route(aRoute('acme/small', [aHop({ weight: 5 })]), anAct(), now.version)
    expect(await routed).toBeUndefined()
    expect(modelOf(bench.store, 'acme/small')?.route).toEqual([aHop({ weight: 5 })])
    const current = () => catalogue.current().version
    expect(await rates.set(rate('91'), at(), anAct(at()), current())).toBeUndefined()
    const small = modelOf(bench.store, 'acme/small')
    expect(await models.remove('acme/small', anAct(), current())).toEqual(small)
    expect(await providers.remove('acme', anAct(), current())).toBeUndefined()
    expect([modelsOf(bench.store), knownProviders()]).toEqual([[], []])
    expect(rateOf(bench.store, at()).rubPerUsd).toBe(rate('91'))
  })

  describe('a model', () => {
    test('is kept whole, with every price', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const card = aCard({
        description: 'small, "quick"',
        contextLength: 32_768,
        maxCompletionTokens: 8_192,
        isCatalogued: true,
        imagesPerAnswer: 4,
        wires: ['responses'],
        kind: 'embed',
        embeddingSpace: 'acme-1',
        inputModalities: ['text', 'image'],
        supportedParameters: ['temperature'],
        price: aVersion(
          {
            cacheRead: perM('0.25'),
            request: price('0.000000000000000001'),
            searchUnit: price('0.002'),
            imageInputToken: perM('8'),
            imageOutputToken: perM('30'),
            imagePrices: [{ resolution: '1024x1024', quality: '*', usd: price('0.039') }],
            tiers: [
              {
                aboveTokens: 200_000,
                prompt: perM('5'),
                completion: perM('15'),
                cacheRead: perM('0.5'),
                cacheWrite: null,
                cacheWrite1h: perM('6'),
              },
            ],
            cacheWrite1h: perM('5'),
            serverTools: [{ tool: 'web_search', usd: price('0.01') }],
            modifiers: [{ name: 'service_tier=priority', factor: factor('1.75') }],
          },
          at(),
        ),
      })
      await bench.store.models.add(card, anAct())
      expect(modelOf(bench.store, card.id)).toEqual(card)
      expect(modelsOf(bench.store)).toEqual([card])
    })

    test('says something else of itself, and keeps its prices and its route', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const card = aCard({ price: aVersion({}, at()), route: [aHop({ weight: 7 })] })
      await bench.store.models.add(card, anAct())
      const scheduled = aVersion({ prompt: perM('9') }, later(at(), 60_000))
      await bench.store.models.price(card.id, scheduled, anAct(at()))
      const { id, createdAt, route, prices } = card
      const facts = {
        provider: 'acme',
        upstreamName: 'other',
        name: 'Other',
        description: 'changed',
        contextLength: 1,
        maxCompletionTokens: 2,
        isCatalogued: true,
        imagesPerAnswer: 3,
        wires: ['chat', 'responses'] as const,
        kind: 'rerank' as const,
        embeddingSpace: null,
        inputModalities: ['text', 'image'] as const,
        outputModalities: ['image'] as const,
        supportedParameters: ['seed'],
      }
      const routed = { route, routedBy: id, routeOrder: 'weight' as const }
      const after = { id, createdAt, ...routed, prices: [scheduled, ...prices], ...facts }
      expect(await bench.store.models.amend(id, facts, anAct())).toEqual(after)
      expect(modelsOf(bench.store)).toEqual([after])
      bench.clock.advance(60_000)
      expect(priceOf(bench.store, id, at())).toEqual(scheduled)
      expect(await codeOf(bench.store.models.amend('acme/none', facts, anAct()))).toBe(
        'model_not_found',
      )
    })

    test('without a price has none, and the list is in order of ids', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      for (const id of ['acme/b', 'acme/a'])
        await bench.store.models.add(aCard({ id, price: null }), anAct())
      expect(modelsOf(bench.store).map(({ id, prices }) => [id, prices])).toEqual([
        ['acme/a', []],
        ['acme/b', []],
      ])
    })

    test('is added once, priced only when it is there, and removed once', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models } = bench.store
      await models.add(aCard(), anAct())
      expect(await codeOf(models.add(aCard(), anAct()))).toBe('already_exists')
      expect(await codeOf(models.price('acme/none', aVersion(), anAct(at())))).toBe(
        'model_not_found',
      )
      expect(await codeOf(models.remove('acme/none', anAct()))).toBe('model_not_found')
      await models.remove('acme/small', anAct())
      expect(modelOf(bench.store, 'acme/small')).toBeUndefined()
      expect(modelsOf(bench.store)).toEqual([])
      expect(await codeOf(models.remove('acme/small', anAct()))).toBe('model_not_found')
    })

    test('is added and others are priced in one act, or none of it', async () => {
      await bench.store.providers.add(aProvider(), [], [aCard()], anAct())
      const { models, acts, catalogue } = bench.store
      const version = aVersion({ prompt: perM('9') }, at())
      const added = [aCard({ id: 'acme/new' })]
      const noted = (await acts.list({ limit: 100 })).length
      const priced = [{ id: 'acme/small', version }]
      const gone = [...priced, { id: 'acme/none', version: aVersion({}, at()) }]
      expect(await codeOf(models.refresh({ added, priced: gone }, anAct(at())))).toBe(
        'model_not_found',
      )
      const stale = catalogue.current().version - 1
      expect(await models.refresh({ added, priced }, anAct(at()), stale)).toBe('stale')
      expect(modelOf(bench.store, 'acme/new')).toBeUndefined()
      expect(await acts.list({ limit: 100 })).toHaveLength(noted)
      await models.refresh({ added, priced }, anAct(at()))
      await bench.restart()
      expect(modelOf(bench.store, 'acme/new')).toBeDefined()
      expect(priceOf(bench.store, 'acme/small', at())).toEqual(version)
      expect(await bench.store.acts.list({ limit: 100 })).toHaveLength(noted + 1)
    })

    test('whose price was taken away has none, not even one that was to come', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models } = bench.store
      const card = aCard()
      await models.add(card, anAct())
      await models.price('acme/small', aVersion({}, later(at(), 5_000)), anAct(at()))
      expect(await models.unprice('acme/small', anAct())).toMatchObject({ prices: [] })
      bench.clock.advance(10_000)
      await bench.restart()
      expect(priceOf(bench.store, 'acme/small', at())).toBeNull()
      const [price] = card.prices
      expect(await bench.store.models.version(price?.id ?? 'price_0')).toEqual(price)
      expect(await codeOf(bench.store.models.unprice('acme/none', anAct()))).toBe('model_not_found')
    })

    test('added again under an old name is not sold at an old price', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models, providers } = bench.store
      await models.add(aCard(), anAct())
      await models.price('acme/small', aVersion({}, later(at(), 5_000)), anAct(at()))
      await models.remove('acme/small', anAct())
      await models.add(aCard({ price: null }), anAct())
      bench.clock.advance(10_000)
      expect(priceOf(bench.store, 'acme/small', at())).toBeNull()
      await models.price('acme/small', aVersion({}, at()), anAct(at()))
      await providers.remove('acme', anAct())
      await providers.add(aProvider(), [], [], anAct())
      await models.add(aCard({ price: null }), anAct())
      expect(priceOf(bench.store, 'acme/small', at())).toBeNull()
      await bench.restart()
      expect(priceOf(bench.store, 'acme/small', at())).toBeNull()
    })
  })

  describe('a price', () => {
    test('takes over when its date comes, to the millisecond', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models } = bench.store
      const first = aVersion({}, at())
      await models.add(aCard({ price: first }), anAct())
      const second = aVersion({ prompt: perM('7') }, later(at(), 1_000))
      expect(await models.price('acme/small', second, anAct(at()))).toMatchObject({
        prices: [second, first],
      })
      expect(priceOf(bench.store, 'acme/small', at())).toEqual(first)
      bench.clock.advance(999)
      expect(priceOf(bench.store, 'acme/small', at())).toEqual(first)
      bench.clock.advance(1)
      expect(priceOf(bench.store, 'acme/small', at())).toEqual(second)
    })

    test('that is dated back does not replace a later one; of one date the last one counts', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models } = bench.store
      await models.add(aCard({ price: aVersion({}, at()) }), anAct())
      const back = { ...aVersion({ prompt: perM('1') }, at()), effectiveFrom: instant(at() - 1) }
      await models.price('acme/small', back, anAct(at()))
      expect(priceOf(bench.store, 'acme/small', at())?.prices.prompt).toBe(perM('2.5'))
      for (const dollars of ['3', '4', '5']) {
        await models.price('acme/small', aVersion({ prompt: perM(dollars) }, at()), anAct(at()))
        expect(priceOf(bench.store, 'acme/small', at())?.prices.prompt).toBe(perM(dollars))
      }
    })

    test('is found by its version, also when another serves and when its model is gone', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models, providers } = bench.store
      const first = aVersion({ cacheRead: perM('0.25'), request: price('0.001') }, at())
      const second = aVersion({ prompt: perM('7') }, later(at(), 1_000))
      await models.add(aCard({ price: first }), anAct())
      await models.price('acme/small', second, anAct(at()))
      expect(await models.version(first.id)).toEqual(first)
      expect(await models.version(second.id)).toEqual(second)
      expect(await models.version('price_none')).toBeUndefined()
      await models.remove('acme/small', anAct())
      await providers.remove('acme', anAct())
      await bench.restart()
      expect(await bench.store.models.version(first.id)).toEqual(first)
    })

    test('in the future alone is no price yet', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const ahead = { ...aVersion({}, later(at(), 1)), id: newPriceVersionId(at()) }
      await bench.store.models.add(aCard({ price: ahead }), anAct())
      expect(priceOf(bench.store, 'acme/small', at())).toBeNull()
      bench.clock.advance(-DAY_MS)
      expect(priceOf(bench.store, 'acme/small', at())).toBeNull()
    })

    test('serves, the oldest, under a clock that is behind all of them', async () => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      const { models } = bench.store
      const first = aVersion({}, at())
      await models.add(aCard({ price: first }), anAct())
      await models.price(
        'acme/small',
        aVersion({ prompt: perM('7') }, later(at(), 1_000)),
        anAct(at()),
      )
      const price = async () => priceOf(bench.store, 'acme/small', at())
      bench.clock.advance(-2 * DAY_MS)
      expect(await price()).toEqual(first)
      await bench.restart()
      expect(await price()).toEqual(first)
      await bench.store.models.unprice('acme/small', anAct())
      expect(await price()).toBeNull()
    })
  })

  describe('a route', () => {
    const named = async (...names: readonly string[]) => {
      await bench.store.providers.add(aProvider(), [], [], anAct())
      for (const name of names)
        await bench.store.providers.add(aProvider({ name }), [], [], anAct())
      await bench.store.models.add(aCard(), anAct())
    }
    const ACME = aHop({ weight: 9 })
    const BETA = aHop({ provider: 'beta', upstreamName: 'small-eu', position: 2, weight: 3 })
    const GAMMA = aHop({ provider: 'gamma' })

    test('is kept whole, by position and then by name, and replaced whole', async () => {
      await named('beta', 'gamma')
      const { models } = bench.store
      await models.route(aRoute('acme/small', [BETA, GAMMA, ACME]), anAct())
      expect(modelOf(bench.store, 'acme/small')?.route).toEqual([ACME, GAMMA, BETA])
      await bench.restart()
      expect(modelsOf(bench.store)[0]?.route).toEqual([ACME, GAMMA, BETA])
      await bench.store.models.route(aRoute('acme/small', [BETA]), anAct())
      expect(modelOf(bench.store, 'acme/small')?.route).toEqual([BETA])
      await bench.store.models.route(aRoute('acme/small', []), anAct())
      expect(modelOf(bench.store, 'acme/small')).toMatchObject({ route: [] })
    })

    test('comes with a card that has one', async () => {
      await named('beta')
      const card = aCard({ id: 'acme/large', route: [BETA] })
      await bench.store.models.add(card, anAct())
      expect(modelOf(bench.store, 'acme/large')?.route).toEqual([BETA])
    })

    test('through a provider that is not there changes nothing', async () => {
      await named('beta')
      const { models } = bench.store
      await models.route(aRoute('acme/small', [BETA]), anAct())
      expect(await codeOf(models.route(aRoute('acme/small', [ACME, GAMMA]), anAct()))).toBe(
        'provider_not_found',
      )
      expect(await codeOf(models.route(aRoute('acme/none', [ACME]), anAct()))).toBe(
        'model_not_found',
      )
      expect(modelOf(bench.store, 'acme/small')?.route).toEqual([BETA])
    })

    test('loses the hops of a provider that is removed, and is gone with its model', async () => {
      await named('beta')
      const { models, providers } = bench.store
      await models.route(aRoute('acme/small', [ACME, BETA]), anAct())
      await providers.remove('beta', anAct())
      expect(modelOf(bench.store, 'acme/small')?.route).toEqual([ACME])
      await models.remove('acme/small', anAct())
      await models.add(aCard(), anAct())
      expect(modelOf(bench.store, 'acme/small')?.route).toEqual([])
    })
  })

  test('the route of a mask is kept, given to models that come later, and goes with its last provider', async () => {
    const { models, providers } = bench.store
    await providers.add(aProvider(), [], [], anAct())
    await providers.add(
      aProvider({ name: 'beta' }),
      [],
      [aCard({ id: 'beta/x', provider: 'beta' })],
      anAct(),
    )
    const own = aHop({ provider: OWN, upstreamName: OWN })
    const mask = aRoute(
      'acme/*',
      [own, aHop({ provider: 'beta', upstreamName: 'at/*', position: 2 })],
      'latency',
    )
    await models.route(mask, anAct())
    await models.add(aCard(), anAct())
    const routed = {
      route: [aHop(), aHop({ provider: 'beta', upstreamName: 'at/small', position: 2 })],
      routedBy: 'acme/*',
      routeOrder: 'latency',
    }
    expect(modelOf(bench.store, 'acme/small')).toMatchObject(routed)
    expect(modelOf(bench.store, 'beta/x')).toMatchObject({ route: [], routedBy: null })
    await bench.restart()
    expect([...bench.store.catalogue.current().routes.values()]).toEqual([mask])
    expect(modelOf(bench.store, 'acme/small')).toMatchObject(routed)
    await bench.store.models.route(aRoute('acme/*', [aHop({ provider: 'beta' })]), anAct())
    await bench.store.models.route(aRoute('acme/small', [aHop()]), anAct())
    expect(modelOf(bench.store, 'acme/small')).toMatchObject({ routedBy: 'acme/small' })
    await bench.store.models.route(aRoute('acme/small', []), anAct())
    expect(modelOf(bench.store, 'acme/small')).toMatchObject({ routedBy: 'acme/*' })
    await bench.store.providers.remove('beta', anAct())
    expect(bench.store.catalogue.current().routes.size).toBe(0)
    expect(modelOf(bench.store, 'acme/small')).toMatchObject({ route: [], routedBy: null })
    expect(await codeOf(bench.store.models.route(aRoute('acme/small', [own]), anAct()))).toBe(
      'provider_not_found',
    )
    expect(bench.store.catalogue.current().routes.size).toBe(0)
  })

  describe('an alias', () => {
    const aliases = () => [...bench.store.catalogue.current().aliases]

    beforeEach(async () => {
      const cards = [aCard(), aCard({ id: 'acme/large', upstreamName: 'large' })]
      await bench.store.providers.add(aProvider(), [], cards, anAct())
      await bench.store.models.alias({ name: 'little', model: 'acme/small' }, anAct())
    })

    test('names a model, then another, and its acts say from which to which', async () => {
      const { models } = bench.store
      await models.alias({ name: 'big/one', model: 'acme/large' }, anAct())
      expect(aliases()).toEqual([
        ['big/one', 'acme/large'],
        ['little', 'acme/small'],
      ])
      await models.alias({ name: 'little', model: 'acme/large' }, anAct())
      await bench.restart()
      expect(aliases()).toEqual([
        ['big/one', 'acme/large'],
        ['little', 'acme/large'],
      ])
      expect(await bench.store.models.unalias('little', anAct())).toEqual({
        name: 'little',
        model: 'acme/large',
      })
      expect(aliases()).toEqual([['big/one', 'acme/large']])
      const told = (await bench.store.acts.list({ limit: 9 })).map(
        ({ changed }) => changed['model'],
      )
      expect(told).toEqual(
        expect.arrayContaining([
          { from: null, to: 'acme/small' },
          { from: 'acme/small', to: 'acme/large' },
          { from: 'acme/large', to: null },
        ]),
      )
    })

    test('is never the id of a model, nor a name of none', async () => {
      const { models, providers } = bench.store
      const before = bench.store.catalogue.current()
      const alias = (name: string, model: string) => codeOf(models.alias({ name, model }, anAct()))
      expect(await alias('acme/large', 'acme/small')).toBe('already_exists')
      expect(await alias('new', 'acme/none')).toBe('model_not_found')
      expect(await codeOf(models.unalias('none', anAct()))).toBe('model_not_found')
      expect(await codeOf(models.add(aCard({ id: 'little' }), anAct()))).toBe('already_exists')
      const beta = providers.add(
        aProvider({ name: 'beta' }),
        [],
        [aCard({ id: 'little', provider: 'beta' })],
        anAct(),
      )
      expect(await codeOf(beta)).toBe('already_exists')
      expect(bench.store.catalogue.current()).toEqual(before)
    })

    test('is gone with its model, and with its provider', async () => {
      const { models, providers } = bench.store
      await models.alias({ name: 'big', model: 'acme/large' }, anAct())
      await models.remove('acme/small', anAct())
      expect(aliases()).toEqual([['big', 'acme/large']])
      await providers.remove('acme', anAct())
      expect(aliases()).toEqual([])
    })
  })

  describe('a provider', () => {
    test('is kept, listed by name and found', async () => {
      const { providers } = bench.store
      await providers.add(aProvider({ name: 'zeta' }), [], [], anAct())
      await providers.add(
        aProvider({ hasCredential: true }),
        onlyCredential('sk-test'),
        [],
        anAct(),
      )
      expect(knownProviders()).toEqual([
        aProvider({ hasCredential: true }),
        aProvider({ name: 'zeta' }),
      ])
      expect(known('zeta')).toEqual(aProvider({ name: 'zeta' }))
      expect(providerOf(bench.store, 'none')).toBeUndefined()
    })

    test('gives its credential back, and it alone', async () => {
      const { providers } = bench.store
      await providers.add(
        aProvider({ hasCredential: true }),
        onlyCredential('sk-ключ-🔑'),
        [],
        anAct(),
      )
      await providers.add(aProvider({ name: 'free' }), [], [], anAct())
      expect(await providers.credential('acme')).toBe('sk-ключ-🔑')
      expect(await providers.credential('free')).toBeNull()
      expect(await codeOf(providers.credential('none'))).toBe('provider_not_found')
      expect(JSON.stringify(providersOf(bench.store))).not.toContain('sk-')
    })

    test('has another revision with every change of it, and with no other', async () => {
      const { providers, models } = bench.store
      const revision = () => providerOf(bench.store, 'acme')?.revision ?? 0
      await providers.add(aProvider({ hasCredential: true }), onlyCredential('first'), [], anAct())
      await models.add(aCard(), anAct())
      const added = revision()
      expect(added).toBeGreaterThan(0)
      await providers.add(aProvider({ name: 'other' }), [], [], anAct())
      expect(revision()).toBe(added)
      const baseUrl = 'https://elsewhere.example/v1'
      await providers.edit('acme', { baseUrl, credentials: onlyCredential('first') }, anAct())
      expect(known('acme')).toEqual(aProvider({ baseUrl, hasCredential: true }))
      expect(await providers.credential('acme')).toBe('first')
      const moved = revision()
      expect(moved).toBeGreaterThan(added)
      await providers.edit('acme', { credentials: onlyCredential('second') }, anAct())
      const renewed = revision()
      expect(renewed).toBeGreaterThan(moved)
      expect(await providers.credential('acme')).toBe('second')
      await bench.restart()
      expect(revision()).toBe(renewed)
      expect(await bench.store.providers.credential('acme')).toBe('second')
      await bench.store.providers.edit('acme', { credentials: [] }, anAct())
      expect(known('acme')).toEqual(aProvider({ baseUrl }))
      expect(modelOf(bench.store, 'acme/small')).toBeDefined()
      expect(await codeOf(bench.store.providers.edit('none', {}, anAct()))).toBe(
        'provider_not_found',
      )
      // One of its name that comes later is another.
      const { revision: last } = providerOf(bench.store, 'acme') as Provider
      await bench.store.providers.remove('acme', anAct())
      await bench.store.providers.add(aProvider(), [], [], anAct())
      expect(revision()).toBeGreaterThan(last)
    })

    test('has several credentials: each is kept, weighed and replaced by itself', async () => {
      const { providers } = bench.store
      await providers.add(aProvider(), onlyCredential('first'), [], anAct())
      const kept = { name: 'default', weight: 3 }
      await providers.edit(
        'acme',
        { credentials: [kept, { name: 'eu', weight: 1, secret: 'second' }] },
        anAct(),
      )
      const weighed = [kept, { name: 'eu', weight: 1 }]
      expect(known('acme')?.credentials).toEqual(weighed)
      await bench.restart()
      expect(known('acme')?.credentials).toEqual(weighed)
      const secrets = () =>
        Promise.all(
          ['default', 'eu', 'none', null].map((name) =>
            bench.store.providers.credential('acme', name),
          ),
        )
      // By which of the two is not said.
      expect(await secrets()).toEqual(['first', 'second', null, null])
      const moved = { baseUrl: 'https://elsewhere.example/v1' }
      const eu = { name: 'eu', weight: 1, secret: 'third' }
      const { edit } = bench.store.providers
      expect(await codeOf(edit('acme', { ...moved, credentials: [kept, eu] }, anAct()))).toBe(
        'invalid_request',
      )
      await edit('acme', { ...moved, credentials: [eu] }, anAct())
      expect(known('acme')).toMatchObject({ ...moved, credentials: [{ name: 'eu', weight: 1 }] })
      expect(await secrets()).toEqual([null, 'third', null, 'third'])
      await bench.store.providers.remove('acme', anAct())
      await bench.store.providers.add(aProvider(), [], [], anAct())
      expect(await secrets()).toEqual([null, null, null, null])
    })

    test('is edited as it is by then: a credential serves only its address, and what was learned stays', async () => {
      const { providers } = bench.store
      await providers.add(aProvider({ hasCredential: true }), onlyCredential('first'), [], anAct())
      const baseUrl = 'https://elsewhere.example/v1'
      expect(await codeOf(providers.edit('acme', { baseUrl }, anAct()))).toBe('invalid_request')
      expect(known('acme')).toEqual(aProvider({ hasCredential: true }))
      const moved = providers.edit(
        'acme',
        { baseUrl, credentials: onlyCredential('second') },
        anAct(),
      )
      await Promise.all([moved, providers.edit('acme', { outputBound: null }, anAct())])
      expect(known('acme')).toEqual(aProvider({ baseUrl, hasCredential: true }))
      expect(await providers.credential('acme')).toBe('second')
      await providers.learnBound(providerOf(bench.store, 'acme') as Provider, 'max_tokens')
      await providers.edit('acme', { credentials: [] }, anAct())
      expect(known('acme')).toEqual(aProvider({ baseUrl, learnedBound: 'max_tokens' }))
      await providers.edit('acme', { outputBound: null }, anAct())
      expect(known('acme')).toEqual(aProvider({ baseUrl }))
    })

    test('of another type, its models no longer have the bounds of the catalogue', async () => {
      const { providers, models } = bench.store
      await providers.add(aProvider({ type: 'openai' }), [], [], anAct())
      await models.add(aCard({ isCatalogued: true }), anAct())
      await providers.edit('acme', { baseUrl: 'https://eu.api.openai.com/v1' }, anAct())
      expect(modelOf(bench.store, 'acme/small')?.isCatalogued).toBe(true)
      await providers.edit('acme', { type: 'openai-compatible' }, anAct())
      expect(modelOf(bench.store, 'acme/small')?.isCatalogued).toBe(false)
      await bench.restart()
      expect(modelOf(bench.store, 'acme/small')?.isCatalogued).toBe(false)
    })

    test('learns the word of its bound once, unless the operator stated it or it has changed', async () => {
      const { providers } = bench.store
      await providers.add(aProvider(), [], [], anAct())
      await providers.add(aProvider({ name: 'stated', outputBound: 'both' }), [], [], anAct())
      const before = providerOf(bench.store, 'acme') as Provider
      await providers.edit('acme', { credentials: [] }, anAct())
      const edited = providerOf(bench.store, 'acme') as Provider
      await providers.learnBound(before, 'max_tokens')
      expect(providerOf(bench.store, 'acme')).toEqual(edited)
      await providers.learnBound(edited, 'max_tokens')
      expect(known('acme')).toEqual(aProvider({ learnedBound: 'max_tokens' }))
      const learned = providerOf(bench.store, 'acme') as Provider
      await providers.learnBound(edited, 'max_completion_tokens')
      await providers.learnBound(learned, 'max_completion_tokens')
      expect(providerOf(bench.store, 'acme')).toEqual(learned)
      await providers.learnBound(providerOf(bench.store, 'stated') as Provider, 'max_tokens')
      await providers.learnBound(aProvider({ name: 'gone' }), 'max_tokens')
      await bench.restart()
      expect(knownProviders()).toEqual([
        aProvider({ learnedBound: 'max_tokens' }),
        aProvider({ name: 'stated', outputBound: 'both' }),
      ])
    })

    test('comes with all its models, or not at all', async () => {
      const { providers } = bench.store
      const cards = [aCard(), aCard({ id: 'acme/x' }), aCard({ id: 'acme/x' })]
      expect(await codeOf(providers.add(aProvider(), [], cards, anAct()))).toBe('already_exists')
      expect([knownProviders(), modelsOf(bench.store)]).toEqual([[], []])
      await providers.add(aProvider(), [], cards.slice(0, 2), anAct())
      expect(modelsOf(bench.store)).toHaveLength(2)
    })

    test('is added once and removed once, with its models', async () => {
      const { providers, models } = bench.store
      await providers.add(aProvider({ hasCredential: true }), onlyCredential('first'), [], anAct())
      await providers.add(aProvider({ name: 'other' }), [], [], anAct())
      expect(await codeOf(providers.add(aProvider(), onlyCredential('second'), [], anAct()))).toBe(
        'already_exists',
      )
      expect(await providers.credential('acme')).toBe('first')
      await models.add(aCard(), anAct())
      await models.add(aCard({ id: 'other/x', provider: 'other' }), anAct())
      await providers.remove('acme', anAct())
      expect(modelsOf(bench.store).map(({ id }) => id)).toEqual(['other/x'])
      expect(modelOf(bench.store, 'acme/small')).toBeUndefined()
      expect(await codeOf(providers.remove('acme', anAct()))).toBe('provider_not_found')
      expect(await codeOf(providers.credential('acme'))).toBe('provider_not_found')
    })
  })

  describe('a rate', () => {
    test('is the documented default until an operator sets one', async () => {
      expect(rateOf(bench.store, at())).toMatchObject({
        rubPerUsd: DEFAULT_RUB_PER_USD,
        setByOperator: false,
      })
      expect(bench.store.catalogue.current().rates).toEqual([])
    })

    test('holds from its date, the oldest before it too', async () => {
      const { rates } = bench.store
      const now = at()
      await rates.set(rate('92.5'), now, anAct(now))
      await rates.set(rate('95.000001'), later(now, 1_000), anAct(now))
      // A clock that is behind does not bring the default back.
      expect(rateOf(bench.store, instant(now - 1)).rubPerUsd).toBe(rate('92.5'))
      expect(rateOf(bench.store, now).rubPerUsd).toBe(rate('92.5'))
      expect(rateOf(bench.store, later(now, 999)).rubPerUsd).toBe(rate('92.5'))
      expect(rateOf(bench.store, later(now, 1_000))).toEqual({
        rubPerUsd: rate('95.000001'),
        effectiveFrom: later(now, 1_000),
        setByOperator: true,
      })
      expect(bench.store.catalogue.current().rates.map(({ rubPerUsd }) => rubPerUsd)).toEqual([
        rate('95.000001'),
        rate('92.5'),
      ])
    })

    test('of the same date is replaced', async () => {
      const { rates } = bench.store
      await rates.set(rate('92.5'), at(), anAct(at()))
      await rates.set(rate('93'), at(), anAct(at()))
      expect(rateOf(bench.store, at()).rubPerUsd).toBe(rate('93'))
      expect(bench.store.catalogue.current().rates).toHaveLength(1)
    })
  })
}
