// What is offered once is offered again as long as it holds, and not a request longer.
import { beforeEach, expect, test } from 'vitest'
import { HOUR_MS, later } from '#domain/clock.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import type { Offer } from '#domain/walk/offer.ts'
import { findOffers, offersOf } from '#domain/walk/offer.ts'
import { aHop, aKey, aRequest, aVersion, perM, rate } from '#test/support/nouns.ts'
import { openWalkBench, type WalkBench } from './walking.ts'

let bench: WalkBench
beforeEach(async () => {
  bench = await openWalkBench()
})

const offered = async (): Promise<Offer> => {
  const { clock, store } = bench
  const deps = { clock, store, health: createHopHealth(clock) }
  const [offer] = await findOffers(deps, aKey(clock.now()), aRequest())
  return offer
}

test('a model with one hop is offered as the same object, request after request', async () => {
  // The first touches of the catalogue load it.
  await offered()
  expect(await offered()).toBe(await offered())
})

test.each([
  [
    'its price',
    () =>
      bench.store.models.price('acme/small', aVersion({ prompt: perM('7') }, bench.clock.now())),
    ({ version }: Offer) => expect(version.prices.prompt).toBe(perM('7')),
  ],
  [
    'the rate',
    () => bench.store.rates.set(rate('77'), bench.clock.now()),
    (offer: Offer) => expect(offer.rate.rubPerUsd).toBe(rate('77')),
  ],
  [
    'its provider',
    () => bench.store.providers.edit('acme', { baseUrl: 'http://127.0.0.1:7' }),
    ({ hop }: Offer) => expect(hop.provider.baseUrl).toBe('http://127.0.0.1:7'),
  ],
  [
    'the credential of its provider',
    () => bench.store.providers.edit('acme', { credential: null }),
    () => {},
  ],
  [
    'its route',
    () => bench.store.models.route('acme/small', [aHop({ upstreamName: 'smaller' })]),
    ({ hop }: Offer) => expect(hop.card.upstreamName).toBe('smaller'),
  ],
])('%s changes, and the next request is offered what is new', async (_, change, isNew) => {
  await offered()
  const before = await offered()
  await change()
  const after = await offered()
  expect(after).not.toBe(before)
  isNew(after)
  expect(await offered()).toBe(after)
})

test('a price that comes into force by its date is offered from then on', async () => {
  const { clock, store } = bench
  const dear = aVersion({ prompt: perM('9') }, later(clock.now(), HOUR_MS))
  await store.models.price('acme/small', dear)
  const before = await offered()
  clock.advance(HOUR_MS - 1)
  expect(await offered()).toBe(before)
  clock.advance(1)
  expect((await offered()).version).toMatchObject({ id: dear.id })
})

test('a provider that is gone is offered no more', async () => {
  const { clock, store } = bench
  await offered()
  const { card } = (await offered()).hop
  await store.models.remove('acme/small')
  for (const { id } of await store.models.list()) await store.models.remove(id)
  await store.providers.remove('acme')
  expect(() => offersOf({ clock, store }, card)).toThrow('no provider serves acme/small')
})
