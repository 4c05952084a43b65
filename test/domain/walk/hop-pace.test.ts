// The fastest hop first: a decayed median of the time to the first content, and a share of requests that measures the others.
import { beforeEach, expect, test } from 'vitest'
import { MINUTE_MS } from '#domain/clock.ts'
import type { Hop } from '#domain/hop.ts'
import { createHopPace, type HopPace } from '#domain/walk/hop-pace.ts'
import { type HandClock, handClock } from '#test/support/hand-clock.ts'
import { aCard, aHop, anAct, aProvider, aRequest, aRoute } from '#test/support/nouns.ts'
import { finish, script, text } from '#test/support/scripted-upstream.ts'
import { openWalkBench } from './walking.ts'

const hop = (provider: string): Hop => ({
  card: aCard({ upstreamName: 'small' }),
  provider: aProvider({ name: provider }),
  credential: null,
})
const [A, B, C] = [hop('a'), hop('b'), hop('c')] as const
const ROUTE = ['a', 'b', 'c'].map((provider) => aHop({ provider }))

let clock: HandClock
let pace: HopPace

beforeEach(() => {
  clock = handClock('2026-08-22T12:00:00Z')
  pace = createHopPace(clock)
})

/** What a request that explores nothing asks, in order. */
const order = (stream = true): string =>
  pace
    .fastestFirst(ROUTE, stream, () => 0.5)
    .map(({ provider }) => provider)
    .join('')

const began = (at: Hop, ...ms: readonly number[]): void => {
  for (const one of ms) pace.began(at, true, one)
}

const medianOf = (name: string) =>
  pace.readings().find(({ provider }) => provider === name)?.medianMs

test('as drawn while nothing is measured; then the fastest first, and what is not measured last', () => {
  expect(order()).toBe('abc')
  began(C, 300)
  expect(order()).toBe('cab')
  began(B, 100)
  expect(order()).toBe('bca')
  began(A, 200)
  expect(order()).toBe('bac')
})

test('by the median: one answer that took long is an accident', () => {
  began(A, 100, 100, 9_000)
  began(B, 200, 200, 200)
  expect(order()).toBe('abc')
  expect([medianOf('a'), medianOf('b')]).toEqual([100, 200])
})

test('an answer of five minutes ago counts half: a hop that has become slow is soon behind', () => {
  began(A, 100, 100, 100)
  began(B, 500)
  clock.advance(10 * MINUTE_MS)
  expect([medianOf('a'), order()]).toEqual([100, 'abc'])
  began(A, 900)
  expect([medianOf('a'), order()]).toEqual([900, 'bac'])
})

test('only the last 32 of each are kept', () => {
  began(A, ...Array<number>(32).fill(900), ...Array<number>(17).fill(100))
  expect(medianOf('a')).toBe(100)
})

test('a whole answer and a stream are measured apart', () => {
  began(A, 900)
  began(B, 100)
  pace.began(A, false, 50)
  pace.began(B, false, 60)
  expect([order(), order(false)]).toEqual(['bac', 'abc'])
  expect(pace.readings()).toHaveLength(4)
})

test('one draw of ten stays as weight drew it, and every other one while a hop is not measured', () => {
  began(B, 1)
  const first = (drawn: number) => pace.fastestFirst(ROUTE, true, () => drawn)[0]?.provider
  expect([0, 0.499, 0.5, 0.999].map(first)).toEqual(['a', 'a', 'b', 'b'])
  began(A, 9)
  began(C, 9)
  expect([0, 0.099, 0.1, 0.999].map(first)).toEqual(['a', 'a', 'b', 'b'])
})

test('a walk measures its hop from when that was asked, and the next goes to the fastest', async () => {
  const bench = await openWalkBench()
  const { store } = bench
  await store.providers.add(aProvider({ name: 'beta' }), [], [], anAct())
  const hops = [aHop(), aHop({ provider: 'beta' })]
  await store.models.route(aRoute('acme/small', hops, 'latency'), anAct())
  const takes: Readonly<Record<string, number>> = { acme: 400, beta: 30 }
  const asked: string[] = []
  const deps = bench.depsOf({
    upstream: script(
      async function* () {
        yield [text('hello'), finish()]
      },
      async ({ hop: { provider } }) => {
        asked.push(provider.name)
        bench.clock.advance(takes[provider.name] ?? 0)
      },
    ).upstream,
  })
  // Until both are measured by a request that explores.
  while (new Set(asked).size < 2) await bench.walk(deps)
  expect(deps.health.pace.readings().map(({ provider, medianMs }) => [provider, medianMs])).toEqual(
    expect.arrayContaining([
      ['acme', 400],
      ['beta', 30],
    ]),
  )
  asked.length = 0
  for (let n = 0; n < 60; n++) await bench.walk(deps)
  // One of twenty explores acme: three of sixty. Eighteen of them happen once in billions of runs.
  expect(asked.filter((name) => name === 'beta').length).toBeGreaterThan(42)
  // Nothing is measured where nothing is ordered by it.
  await store.models.route(aRoute('acme/small', hops), anAct())
  const before = deps.health.pace.readings()
  await bench.walk(deps, aRequest({ stream: true }))
  expect(deps.health.pace.readings()).toEqual(before)
  await store.close()
})
