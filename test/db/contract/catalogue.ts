/** What every engine promises about models, providers and rates. */
import { describe, expect, test } from 'vitest'
import { DAY_MS, instant, later } from '#domain/clock.ts'
import { newPriceVersionId } from '#domain/id.ts'
import type { Provider } from '#domain/provider.ts'
import { DEFAULT_RUB_PER_USD } from '#domain/rate.ts'
import { aCard, aHop, aProvider, aVersion, perM, price, rate } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

export function catalogueContract(bench: Bench): void {
  const at = () => bench.clock.now()
  const codeOf = async (act: Promise<unknown>) =>
    ((await act.catch((thrown) => thrown)) as { code?: string }).code

  describe('a model', () => {
    test('is kept whole, with every price', async () => {
      await bench.store.providers.add(aProvider(), null)
      const card = aCard({
        description: 'small, "quick"',
        contextLength: 32_768,
        maxCompletionTokens: 8_192,
        isCatalogued: true,
        imagesPerAnswer: 4,
        inputModalities: ['text', 'image'],
        supportedParameters: ['temperature'],
        price: aVersion(
          {
            cacheRead: perM('0.25'),
            request: price('0.000000000000000001'),
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
              },
            ],
          },
          at(),
        ),
      })
      await bench.store.models.add(card)
      expect(await bench.store.models.find(card.id)).toEqual(card)
      expect(await bench.store.models.list()).toEqual([card])
    })

    test('says something else of itself, and keeps its prices and its route', async () => {
      await bench.store.providers.add(aProvider(), null)
      const card = aCard({ price: aVersion({}, at()), route: [aHop({ weight: 7 })] })
      await bench.store.models.add(card)
      const scheduled = aVersion({ prompt: perM('9') }, later(at(), 60_000))
      await bench.store.models.price(card.id, scheduled)
      const { id, createdAt, route, price: known } = card
      const facts = {
        provider: 'acme',
        upstreamName: 'other',
        name: 'Other',
        description: 'changed',
        contextLength: 1,
        maxCompletionTokens: 2,
        isCatalogued: true,
        imagesPerAnswer: 3,
        inputModalities: ['text', 'image'] as const,
        outputModalities: ['image'] as const,
        supportedParameters: ['seed'],
      }
      const after = { id, createdAt, route, price: known, ...facts }
      expect(await bench.store.models.amend(id, facts)).toEqual(after)
      expect(await bench.store.models.list()).toEqual([after])
      bench.clock.advance(60_000)
      expect((await bench.store.models.find(id))?.price).toEqual(scheduled)
      expect(await codeOf(bench.store.models.amend('acme/none', facts))).toBe('model_not_found')
    })

    test('without a price has none, and the list is in order of ids', async () => {
      await bench.store.providers.add(aProvider(), null)
      for (const id of ['acme/b', 'acme/a'])
        await bench.store.models.add(aCard({ id, price: null }))
      const models = await bench.store.models.list()
      expect(models.map(({ id, price }) => [id, price])).toEqual([
        ['acme/a', null],
        ['acme/b', null],
      ])
    })

    test('is added once, priced only when it is there, and removed once', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models } = bench.store
      await models.add(aCard())
      expect(await codeOf(models.add(aCard()))).toBe('already_exists')
      expect(await codeOf(models.price('acme/none', aVersion()))).toBe('model_not_found')
      expect(await codeOf(models.remove('acme/none'))).toBe('model_not_found')
      await models.remove('acme/small')
      expect(await models.find('acme/small')).toBeUndefined()
      expect(await models.list()).toEqual([])
      expect(await codeOf(models.remove('acme/small'))).toBe('model_not_found')
    })

    test('whose price was taken away has none, not even one that was to come', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models } = bench.store
      const card = aCard()
      await models.add(card)
      await models.price('acme/small', aVersion({}, later(at(), 5_000)))
      expect((await models.unprice('acme/small')).price).toBeNull()
      bench.clock.advance(10_000)
      await bench.restart()
      expect((await bench.store.models.find('acme/small'))?.price).toBeNull()
      expect(await bench.store.models.version(card.price?.id ?? 'price_0')).toEqual(card.price)
      expect(await codeOf(bench.store.models.unprice('acme/none'))).toBe('model_not_found')
    })

    test('added again under an old name is not sold at an old price', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models, providers } = bench.store
      await models.add(aCard())
      await models.price('acme/small', aVersion({}, later(at(), 5_000)))
      await models.remove('acme/small')
      await models.add(aCard({ price: null }))
      bench.clock.advance(10_000)
      expect((await models.find('acme/small'))?.price).toBeNull()
      await models.price('acme/small', aVersion({}, at()))
      await providers.remove('acme')
      await providers.add(aProvider(), null)
      await models.add(aCard({ price: null }))
      expect((await models.find('acme/small'))?.price).toBeNull()
      await bench.restart()
      expect((await bench.store.models.find('acme/small'))?.price).toBeNull()
    })
  })

  describe('a price', () => {
    test('takes over when its date comes, to the millisecond', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models } = bench.store
      const first = aVersion({}, at())
      await models.add(aCard({ price: first }))
      const second = aVersion({ prompt: perM('7') }, later(at(), 1_000))
      expect((await models.price('acme/small', second)).price).toEqual(first)
      bench.clock.advance(999)
      expect((await models.find('acme/small'))?.price).toEqual(first)
      bench.clock.advance(1)
      expect((await models.find('acme/small'))?.price).toEqual(second)
      expect((await models.list())[0]?.price).toEqual(second)
    })

    test('that is dated back does not replace a later one; of one date the last one counts', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models } = bench.store
      await models.add(aCard({ price: aVersion({}, at()) }))
      const back = { ...aVersion({ prompt: perM('1') }, at()), effectiveFrom: instant(at() - 1) }
      await models.price('acme/small', back)
      expect((await models.find('acme/small'))?.price?.prices.prompt).toBe(perM('2.5'))
      for (const dollars of ['3', '4', '5']) {
        await models.price('acme/small', aVersion({ prompt: perM(dollars) }, at()))
        expect((await models.find('acme/small'))?.price?.prices.prompt).toBe(perM(dollars))
      }
    })

    test('is found by its version, also when another serves and when its model is gone', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models, providers } = bench.store
      const first = aVersion({ cacheRead: perM('0.25'), request: price('0.001') }, at())
      const second = aVersion({ prompt: perM('7') }, later(at(), 1_000))
      await models.add(aCard({ price: first }))
      await models.price('acme/small', second)
      expect(await models.version(first.id)).toEqual(first)
      expect(await models.version(second.id)).toEqual(second)
      expect(await models.version('price_none')).toBeUndefined()
      await models.remove('acme/small')
      await providers.remove('acme')
      await bench.restart()
      expect(await bench.store.models.version(first.id)).toEqual(first)
    })

    test('in the future alone is no price yet', async () => {
      await bench.store.providers.add(aProvider(), null)
      const ahead = { ...aVersion({}, later(at(), 1)), id: newPriceVersionId(at()) }
      await bench.store.models.add(aCard({ price: ahead }))
      expect((await bench.store.models.find('acme/small'))?.price).toBeNull()
      bench.clock.advance(-DAY_MS)
      expect((await bench.store.models.find('acme/small'))?.price).toBeNull()
    })

    test('serves, the oldest, under a clock that is behind all of them', async () => {
      await bench.store.providers.add(aProvider(), null)
      const { models } = bench.store
      const first = aVersion({}, at())
      await models.add(aCard({ price: first }))
      await models.price('acme/small', aVersion({ prompt: perM('7') }, later(at(), 1_000)))
      const price = async () => (await bench.store.models.find('acme/small'))?.price
      bench.clock.advance(-2 * DAY_MS)
      expect(await price()).toEqual(first)
      await bench.restart()
      expect(await price()).toEqual(first)
      expect((await bench.store.models.list())[0]?.price).toEqual(first)
      await bench.store.models.unprice('acme/small')
      expect(await price()).toBeNull()
    })
  })

  describe('a route', () => {
    const named = async (...names: readonly string[]) => {
      await bench.store.providers.add(aProvider(), null)
      for (const name of names) await bench.store.providers.add(aProvider({ name }), null)
      await bench.store.models.add(aCard())
    }
    const ACME = aHop({ weight: 9 })
    const BETA = aHop({ provider: 'beta', upstreamName: 'small-eu', position: 2, weight: 3 })
    const GAMMA = aHop({ provider: 'gamma' })

    test('is kept whole, by position and then by name, and replaced whole', async () => {
      await named('beta', 'gamma')
      const { models } = bench.store
      expect((await models.route('acme/small', [BETA, GAMMA, ACME])).route).toEqual([
        ACME,
        GAMMA,
        BETA,
      ])
      expect((await models.find('acme/small'))?.route).toEqual([ACME, GAMMA, BETA])
      await bench.restart()
      expect((await bench.store.models.list())[0]?.route).toEqual([ACME, GAMMA, BETA])
      await bench.store.models.route('acme/small', [BETA])
      expect((await bench.store.models.find('acme/small'))?.route).toEqual([BETA])
      await bench.store.models.route('acme/small', [])
      expect(await bench.store.models.find('acme/small')).toMatchObject({ route: [] })
    })

    test('comes with a card that has one', async () => {
      await named('beta')
      const card = aCard({ id: 'acme/large', route: [BETA] })
      await bench.store.models.add(card)
      expect((await bench.store.models.find('acme/large'))?.route).toEqual([BETA])
    })

    test('through a provider that is not there changes nothing', async () => {
      await named('beta')
      const { models } = bench.store
      await models.route('acme/small', [BETA])
      expect(await codeOf(models.route('acme/small', [ACME, GAMMA]))).toBe('provider_not_found')
      expect(await codeOf(models.route('acme/none', [ACME]))).toBe('model_not_found')
      expect((await models.find('acme/small'))?.route).toEqual([BETA])
    })

    test('loses the hops of a provider that is removed, and is gone with its model', async () => {
      await named('beta')
      const { models, providers } = bench.store
      await models.route('acme/small', [ACME, BETA])
      await providers.remove('beta')
      expect((await models.find('acme/small'))?.route).toEqual([ACME])
      await models.remove('acme/small')
      await models.add(aCard())
      expect((await models.find('acme/small'))?.route).toEqual([])
    })
  })

  describe('a provider', () => {
    test('is kept, listed by name and found', async () => {
      const { providers } = bench.store
      await providers.add(aProvider({ name: 'zeta' }), null)
      await providers.add(aProvider({ hasCredential: true }), 'sk-test')
      expect(await providers.list()).toEqual([
        aProvider({ hasCredential: true }),
        aProvider({ name: 'zeta' }),
      ])
      expect(await providers.find('zeta')).toEqual(aProvider({ name: 'zeta' }))
      expect(await providers.find('none')).toBeUndefined()
    })

    test('gives its credential back, and it alone', async () => {
      const { providers } = bench.store
      await providers.add(aProvider({ hasCredential: true }), 'sk-ключ-🔑')
      await providers.add(aProvider({ name: 'free' }), null)
      expect(await providers.credential('acme')).toBe('sk-ключ-🔑')
      expect(await providers.credential('free')).toBeNull()
      expect(await codeOf(providers.credential('none'))).toBe('provider_not_found')
      expect(JSON.stringify(await providers.list())).not.toContain('sk-')
    })

    test('is another object once it is changed, and the same until then', async () => {
      const { providers, models } = bench.store
      await providers.add(aProvider({ hasCredential: true }), 'first')
      await models.add(aCard())
      const before = await providers.find('acme')
      expect(await providers.find('acme')).toBe(before)
      const baseUrl = 'https://elsewhere.example/v1'
      await providers.edit('acme', { baseUrl, credential: 'first' })
      expect(await providers.find('acme')).toEqual(aProvider({ baseUrl, hasCredential: true }))
      expect(await providers.credential('acme')).toBe('first')
      const between = await providers.find('acme')
      await providers.edit('acme', { credential: 'second' })
      expect(await providers.find('acme')).not.toBe(between)
      expect(await providers.credential('acme')).toBe('second')
      await bench.restart()
      expect(await bench.store.providers.credential('acme')).toBe('second')
      await bench.store.providers.edit('acme', { credential: null })
      expect(await bench.store.providers.find('acme')).toEqual(aProvider({ baseUrl }))
      expect(await bench.store.models.find('acme/small')).toBeDefined()
      expect(await codeOf(bench.store.providers.edit('none', {}))).toBe('provider_not_found')
    })

    test('is edited as it is by then: a credential serves only its address, and what was learned stays', async () => {
      const { providers } = bench.store
      await providers.add(aProvider({ hasCredential: true }), 'first')
      const baseUrl = 'https://elsewhere.example/v1'
      expect(await codeOf(providers.edit('acme', { baseUrl }))).toBe('invalid_request')
      expect(await providers.find('acme')).toEqual(aProvider({ hasCredential: true }))
      const moved = providers.edit('acme', { baseUrl, credential: 'second' })
      await Promise.all([moved, providers.edit('acme', { outputBound: null })])
      expect(await providers.find('acme')).toEqual(aProvider({ baseUrl, hasCredential: true }))
      expect(await providers.credential('acme')).toBe('second')
      await providers.learnBound(aProvider({ baseUrl }), 'max_tokens')
      await providers.edit('acme', { credential: null })
      expect(await providers.find('acme')).toEqual(
        aProvider({ baseUrl, learnedBound: 'max_tokens' }),
      )
      await providers.edit('acme', { outputBound: null })
      expect(await providers.find('acme')).toEqual(aProvider({ baseUrl }))
    })

    test('of another type, its models no longer have the bounds of the catalogue', async () => {
      const { providers, models } = bench.store
      await providers.add(aProvider({ type: 'openai' }), null)
      await models.add(aCard({ isCatalogued: true }))
      await providers.edit('acme', { baseUrl: 'https://eu.api.openai.com/v1' })
      expect((await models.find('acme/small'))?.isCatalogued).toBe(true)
      await providers.edit('acme', { type: 'openai-compatible' })
      expect((await models.find('acme/small'))?.isCatalogued).toBe(false)
      await bench.restart()
      expect((await bench.store.models.find('acme/small'))?.isCatalogued).toBe(false)
    })

    test('learns the word of its bound once, unless the operator stated it or it has changed', async () => {
      const { providers } = bench.store
      await providers.add(aProvider(), null)
      await providers.add(aProvider({ name: 'stated', outputBound: 'both' }), null)
      const before = (await providers.find('acme')) as Provider
      await providers.learnBound(aProvider({ baseUrl: 'http://old.example' }), 'max_tokens')
      expect(await providers.find('acme')).toBe(before)
      await providers.learnBound(before, 'max_tokens')
      expect(await providers.find('acme')).toEqual(aProvider({ learnedBound: 'max_tokens' }))
      const learned = await providers.find('acme')
      await providers.learnBound(before, 'max_completion_tokens')
      expect(await providers.find('acme')).toBe(learned)
      await providers.learnBound(aProvider({ name: 'stated' }), 'max_tokens')
      await providers.learnBound(aProvider({ name: 'gone' }), 'max_tokens')
      await bench.restart()
      expect(await bench.store.providers.list()).toEqual([
        aProvider({ learnedBound: 'max_tokens' }),
        aProvider({ name: 'stated', outputBound: 'both' }),
      ])
    })

    test('is added once and removed once, with its models', async () => {
      const { providers, models } = bench.store
      await providers.add(aProvider({ hasCredential: true }), 'first')
      await providers.add(aProvider({ name: 'other' }), null)
      expect(await codeOf(providers.add(aProvider(), 'second'))).toBe('already_exists')
      expect(await providers.credential('acme')).toBe('first')
      await models.add(aCard())
      await models.add(aCard({ id: 'other/x', provider: 'other' }))
      await providers.remove('acme')
      expect((await models.list()).map(({ id }) => id)).toEqual(['other/x'])
      expect(await models.find('acme/small')).toBeUndefined()
      expect(await codeOf(providers.remove('acme'))).toBe('provider_not_found')
      expect(await codeOf(providers.credential('acme'))).toBe('provider_not_found')
    })
  })

  describe('a rate', () => {
    test('is the documented default until an operator sets one', async () => {
      expect(await bench.store.rates.at(at())).toMatchObject({
        rubPerUsd: DEFAULT_RUB_PER_USD,
        setByOperator: false,
      })
      expect(await bench.store.rates.list()).toEqual([])
    })

    test('holds from its date, the oldest before it too', async () => {
      const { rates } = bench.store
      const now = at()
      await rates.set(rate('92.5'), now)
      await rates.set(rate('95.000001'), later(now, 1_000))
      // A clock that is behind does not bring the default back.
      expect((await rates.at(instant(now - 1))).rubPerUsd).toBe(rate('92.5'))
      expect((await rates.at(now)).rubPerUsd).toBe(rate('92.5'))
      expect((await rates.at(later(now, 999))).rubPerUsd).toBe(rate('92.5'))
      expect(await rates.at(later(now, 1_000))).toEqual({
        rubPerUsd: rate('95.000001'),
        effectiveFrom: later(now, 1_000),
        setByOperator: true,
      })
      expect((await rates.list()).map(({ rubPerUsd }) => rubPerUsd)).toEqual([
        rate('95.000001'),
        rate('92.5'),
      ])
    })

    test('of the same date is replaced', async () => {
      const { rates } = bench.store
      await rates.set(rate('92.5'), at())
      await rates.set(rate('93'), at())
      expect((await rates.at(at())).rubPerUsd).toBe(rate('93'))
      expect(await rates.list()).toHaveLength(1)
    })
  })
}
