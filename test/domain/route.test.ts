// A route's order: by position, within one position by weight, and every hop exactly once.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toHop } from '#domain/hop.ts'
import { routeOf } from '#domain/model-card.ts'
import { drawOrder, type RouteHop } from '#domain/route.ts'
import { aCard, aHop, aProvider } from '#test/support/nouns.ts'

const names = (hops: readonly RouteHop[]) => hops.map(({ provider }) => provider)

/** Draws the same sequence for one seed. */
function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const routes = fc
  .array(
    fc.record({ position: fc.integer({ min: 1, max: 4 }), weight: fc.integer({ min: 1, max: 9 }) }),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((hops) => hops.map((hop, n) => aHop({ ...hop, provider: `p${n}` })))

const draws = fc
  .array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 })
  .map((numbers) => {
    let n = 0
    return () => numbers[n++ % numbers.length] ?? 0
  })

describe('a route', () => {
  test('that was not set is only the model’s own provider', () => {
    expect(routeOf(aCard())).toEqual([
      { provider: 'acme', upstreamName: 'small', position: 1, weight: 1 },
    ])
    const route = [aHop({ provider: 'other' })]
    expect(routeOf(aCard({ route }))).toBe(route)
  })

  test('a hop is the card as its provider calls it', () => {
    const card = aCard()
    const provider = aProvider({ name: 'other' })
    const renamed = toHop(card, aHop({ provider: 'other', upstreamName: 'small-eu' }), provider)
    expect(renamed).toEqual({
      card: { ...card, upstreamName: 'small-eu' },
      provider,
      credential: null,
    })
    expect(toHop(card, aHop({ upstreamName: 'small' }), provider).card).toBe(card)
  })
})

describe('the order of one request', () => {
  test('holds every hop exactly once, by position, whatever is drawn', () => {
    fc.assert(
      fc.property(routes, draws, (route, draw) => {
        const order = drawOrder(route, draw)
        expect(order.toSorted((a, b) => a.provider.localeCompare(b.provider))).toEqual(route)
        const positions = order.map(({ position }) => position)
        expect(positions).toEqual(positions.toSorted((a, b) => a - b))
      }),
    )
  })

  test('shares the first place of a position by weight', () => {
    fc.assert(
      fc.property(routes, fc.integer(), (route, seed) => {
        const draw = seeded(seed)
        const many = 4_000
        const firsts = new Map<string, number>()
        for (let i = 0; i < many; i++) {
          const seen = new Set<number>()
          for (const { provider, position } of drawOrder(route, draw)) {
            if (seen.has(position)) continue
            seen.add(position)
            firsts.set(provider, (firsts.get(provider) ?? 0) + 1)
          }
        }
        for (const { provider, position, weight } of route) {
          const total = route
            .filter((hop) => hop.position === position)
            .reduce((sum, hop) => sum + hop.weight, 0)
          // Five standard deviations of a share drawn four thousand times.
          expect(Math.abs((firsts.get(provider) ?? 0) / many - weight / total)).toBeLessThan(0.04)
        }
      }),
      { numRuns: 40, seed: 20_260_822 },
    )
  })

  test('shares the second place among those left, by weight again', () => {
    const route = [1, 2, 4].map((weight) => aHop({ provider: `w${weight}`, weight }))
    const draw = seeded(7)
    const seconds = { w1: 0, w2: 0, w4: 0 }
    const many = 20_000
    for (let i = 0; i < many; i++) {
      const [, second] = drawOrder(route, draw)
      seconds[second?.provider as keyof typeof seconds]++
    }
    // 2/7 × 1/5 + 4/7 × 1/3, and so on.
    expect(seconds.w1 / many).toBeCloseTo(26 / 105, 1)
    expect(seconds.w2 / many).toBeCloseTo(1 / 7 / 3 + 8 / 21, 1)
    expect(seconds.w4 / many).toBeCloseTo(2 / 21 + 8 / 35, 1)
  })

  test('the extreme values of a draw select a hop', () => {
    const route = [1, 1, 1].map((weight, n) => aHop({ provider: `p${n}`, weight }))
    expect(names(drawOrder(route, () => 0))).toEqual(['p0', 'p1', 'p2'])
    expect(names(drawOrder(route, () => 1 - Number.EPSILON / 2))).toEqual(['p2', 'p1', 'p0'])
    expect(names(drawOrder(route, () => 1))).toEqual(['p2', 'p1', 'p0'])
  })

  test('a draw on the border belongs to the second', () => {
    const route = [aHop({ provider: 'a' }), aHop({ provider: 'b' })]
    expect(names(drawOrder(route, () => 0.5))).toEqual(['b', 'a'])
  })

  test('one hop needs no draw', () => {
    const route = [aHop()]
    const draw = () => {
      throw new Error('nothing is to be drawn')
    }
    expect(drawOrder(route, draw)).toBe(route)
    expect(names(drawOrder([aHop(), aHop({ provider: 'b', position: 2 })], draw))).toEqual([
      'acme',
      'b',
    ])
  })
})
