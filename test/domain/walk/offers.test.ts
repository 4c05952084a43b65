// What a catalogue offers for a request at an instant: the same from the same, and from another what has changed.
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { HOUR_MS, instant, later } from '#domain/clock.ts'
import { priceAt } from '#domain/model-card.ts'
import { rateAt } from '#domain/rate.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import { arrangeOffers, findOffers, type Offer, offersOf } from '#domain/walk/offer.ts'
import { createSessionRoutes } from '#domain/walk/session-routes.ts'
import { modelOf } from '#test/support/catalogue.ts'
import {
  aCard,
  aHop,
  aKey,
  anAct,
  aProvider,
  aRequest,
  aRoute,
  aVersion,
  perM,
  rate,
} from '#test/support/nouns.ts'
import { FULL } from '#test/support/tier.ts'
import { openWalkBench, type WalkBench } from './walking.ts'

let bench: WalkBench
beforeEach(async () => {
  bench = await openWalkBench()
})

const now = () => bench.clock.now()

const askedNow = () => ({
  catalogue: bench.store.catalogue.current(),
  key: aKey(now()),
  sessions: createSessionRoutes(),
  at: now(),
})

const offered = (): Offer => findOffers(askedNow(), aRequest())[0]

test('a catalogue offers the same again, also once there is another', async () => {
  const asked = askedNow()
  const before = findOffers(asked, aRequest())
  await bench.store.models.remove('acme/small', anAct())
  expect(findOffers(asked, aRequest())).toEqual(before)
  expect(() => offered()).toThrow('there is no model acme/small')
})

test.each([
  [
    'its price',
    () =>
      bench.store.models.price('acme/small', aVersion({ prompt: perM('7') }, now()), anAct(now())),
    ({ version }: Offer) => expect(version.prices.prompt).toBe(perM('7')),
  ],
  [
    'the rate',
    () => bench.store.rates.set(rate('77'), now(), anAct(now())),
    (offer: Offer) => expect(offer.rate.rubPerUsd).toBe(rate('77')),
  ],
  [
    'its provider',
    () => bench.store.providers.edit('acme', { baseUrl: 'http://127.0.0.1:7' }, anAct()),
    ({ hop }: Offer) => expect(hop.provider.baseUrl).toBe('http://127.0.0.1:7'),
  ],
  [
    'the credential of its provider',
    () => bench.store.providers.edit('acme', { credentials: [] }, anAct()),
    () => {},
  ],
  [
    'its route',
    () =>
      bench.store.models.route(aRoute('acme/small', [aHop({ upstreamName: 'smaller' })]), anAct()),
    ({ hop }: Offer) => expect(hop.card.upstreamName).toBe('smaller'),
  ],
])('%s changes, and the next request is offered what is new', async (_, change, isNew) => {
  const before = offered()
  await change()
  const after = offered()
  expect(after).not.toEqual(before)
  isNew(after)
  expect(offered()).toEqual(after)
})

test('a price that comes into force by its date is offered from then on', async () => {
  const { clock, store } = bench
  const dear = aVersion({ prompt: perM('9') }, later(now(), HOUR_MS))
  await store.models.price('acme/small', dear, anAct(now()))
  const before = offered()
  clock.advance(HOUR_MS - 1)
  expect(offered()).toEqual(before)
  clock.advance(1)
  expect(offered().version).toMatchObject({ id: dear.id })
})

test('what is offered at an instant is its price and its rate, whatever was asked before', () => {
  const { models, providers } = bench.store.catalogue.current()
  const dates = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 3 })
  fc.assert(
    fc.property(
      dates,
      dates,
      fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 1, maxLength: 8 }),
      (priceDates, rateDates, asked) => {
        const prices = [0, ...priceDates].map((date) => aVersion({}, instant(date)))
        const card = { ...aCard(), prices }
        const rates = rateDates
          .toSorted((one, other) => other - one)
          .map((date) => ({
            rubPerUsd: rate('90'),
            effectiveFrom: instant(date),
            setByOperator: true,
          }))
        const catalogue = {
          version: 1,
          models,
          aliases: new Map(),
          routes: new Map(),
          providers,
          rates,
        }
        for (const at of asked.map(instant)) {
          const [offer] = offersOf({ catalogue, at }, card)
          expect([offer?.version, offer?.rate]).toEqual([priceAt(card, at), rateAt(catalogue, at)])
        }
      },
    ),
    { numRuns: FULL ? 1_000 : 100 },
  )
})

test('a provider that is gone is offered no more', async () => {
  const { store } = bench
  const card = modelOf(store, 'acme/small')!
  await store.providers.remove('acme', anAct())
  expect(() => offersOf(askedNow(), card)).toThrow('no provider serves acme/small')
})

test('without fallbacks the one offer is of a hop that does not rest', async () => {
  const { clock, store } = bench
  await store.providers.add(aProvider({ name: 'beta' }), [], [], anAct())
  await store.models.route(
    aRoute('acme/small', [aHop(), aHop({ provider: 'beta', position: 2 })]),
    anAct(),
  )
  const health = createHopHealth(clock)
  const offers = findOffers(askedNow(), aRequest())
  const arranged = () =>
    arrangeOffers(health, aRequest({ allowFallbacks: false }), offers).map(
      ({ hop }) => hop.provider.name,
    )
  expect(arranged()).toEqual(['acme'])
  health.failed(offers[0].hop, new UpstreamFailure('unauthorized', 'no account'))
  expect(arranged()).toEqual(['beta'])
})
