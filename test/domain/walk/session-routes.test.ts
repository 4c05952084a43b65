// A session's next request goes where its last one was served, within its position, while that serves; others are drawn.
import { expect, test } from 'vitest'
import { drawOrder } from '#domain/route.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { createHopHealth } from '#domain/walk/hop-health.ts'
import { arrangeOffers, findOffers } from '#domain/walk/offer.ts'
import { createSessionRoutes, MAX_SESSIONS } from '#domain/walk/session-routes.ts'
import { aHop, aKey, anAct, aProvider, aRequest, aRoute } from '#test/support/nouns.ts'
import { finish, script, text } from '#test/support/scripted-upstream.ts'
import { openWalkBench } from './walking.ts'

async function* says() {
  yield [text('hello'), finish()]
}

const A = aHop({ provider: 'a' })
const B = aHop({ provider: 'b' })
const LATE = aHop({ provider: 'late', position: 2 })

test('the preferred hop comes first of its position, and no earlier', () => {
  const names = (preferred?: string) =>
    drawOrder([A, LATE, B], () => 0, preferred).map(({ provider }) => provider)
  expect(names()).toEqual(['a', 'b', 'late'])
  expect(names('b')).toEqual(['b', 'a', 'late'])
  expect(names('late')).toEqual(['a', 'b', 'late'])
  expect(names('gone')).toEqual(['a', 'b', 'late'])
})

test('a session is one key’s at one model, and the oldest is forgotten first', () => {
  const { lastOf, served } = createSessionRoutes()
  const of = (name: string, more = {}) => ({ keyId: 'key_1', model: 'a/b', name, ...more }) as const
  served(of('0'), 'a')
  expect(lastOf(of('0'))).toBe('a')
  expect(lastOf(of('0', { keyId: 'key_2' }))).toBeUndefined()
  expect(lastOf(of('0', { model: 'a/c' }))).toBeUndefined()
  for (let n = 1; n < MAX_SESSIONS; n++) served(of(String(n)), 'a')
  served(of('0'), 'b')
  served(of('new'), 'a')
  expect(lastOf(of('0'))).toBe('b')
  expect(lastOf(of('1'))).toBeUndefined()
  expect(lastOf(of('2'))).toBe('a')
})

test('a request of a session is offered its last provider first, unless that rests', async () => {
  const bench = await openWalkBench()
  const { store, clock } = bench
  for (const name of ['a', 'b']) await store.providers.add(aProvider({ name }), [], [], anAct())
  await store.models.route(aRoute('acme/small', [A, B]), anAct())
  const sessions = createSessionRoutes()
  const health = createHopHealth(clock)
  const key = aKey(clock.now())
  const request = aRequest({ session: 'talk' })
  const firsts = (asked = request) =>
    new Set(
      Array.from({ length: 60 }, () => {
        const found = { catalogue: store.catalogue.current(), key, sessions, at: clock.now() }
        return arrangeOffers(health, asked, findOffers(found, asked))[0].hop.provider.name
      }),
    )
  expect(firsts()).toEqual(new Set(['a', 'b']))
  sessions.served({ keyId: key.id, model: 'acme/small', name: 'talk' }, 'b')
  expect(firsts()).toEqual(new Set(['b']))
  expect(firsts(aRequest())).toEqual(new Set(['a', 'b']))
  const found = { catalogue: store.catalogue.current(), key, sessions, at: clock.now() }
  const { hop } = findOffers(found, request)[0]
  const failure = new UpstreamFailure('overloaded', 'busy', { retryAfterSeconds: 60 })
  health.failed(hop, failure)
  expect(firsts()).toEqual(new Set(['a']))
})

test('a session is where its answer began', async () => {
  const bench = await openWalkBench()
  for (const name of ['a', 'b'])
    await bench.store.providers.add(aProvider({ name }), [], [], anAct())
  await bench.store.models.route(aRoute('acme/small', [A, B]), anAct())
  const deps = bench.depsOf(script(says))
  const { caller, thrown } = await bench.walk(deps, aRequest({ session: 'talk' }))
  expect(thrown).toBeUndefined()
  const [line] = await bench.store.activity.list({ limit: 1 })
  expect(line).toMatchObject({ surface: 'chat', session: 'talk' })
  const session = { keyId: caller.key.id, model: 'acme/small', name: 'talk' }
  expect(deps.sessions.lastOf(session)).toBe(line?.provider)
})

test('of several credentials of its provider, a session is offered the one that served it first', async () => {
  const { store, clock } = await openWalkBench()
  const credentials = ['one', 'two'].map((name) => ({ name, weight: 1, secret: name }))
  await store.providers.edit('acme', { credentials }, anAct())
  const key = aKey(clock.now())
  const sessions = createSessionRoutes()
  const asked = aRequest({ session: 'talk' })
  const firsts = () =>
    new Set(
      Array.from({ length: 60 }, () => {
        const found = { catalogue: store.catalogue.current(), key, sessions, at: clock.now() }
        return findOffers(found, asked)[0].hop.credential
      }),
    )
  expect(firsts()).toEqual(new Set(['one', 'two']))
  sessions.served({ keyId: key.id, model: 'acme/small', name: 'talk' }, 'acme two')
  expect(firsts()).toEqual(new Set(['two']))
})
