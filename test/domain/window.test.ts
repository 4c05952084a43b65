// A window never lets more through than its limit, and frees each slot exactly one span after its own request.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS, instant, MINUTE_MS } from '#domain/clock.ts'
import { readWindow, Window } from '#domain/window.ts'
import { FULL } from '#test/support/tier.ts'

const T0 = 1_700_000_000_000
const at = (ms: number) => instant(T0 + ms)

describe('a minute window', () => {
  test('a slot frees exactly one minute after its own request, not a millisecond before', () => {
    const window = new Window(MINUTE_MS)
    window.take(at(0))
    window.take(at(1_500))
    expect(window.count(at(59_999))).toBe(2)
    expect(window.count(at(60_000))).toBe(1)
    expect(window.count(at(61_499))).toBe(1)
    expect(window.count(at(61_500))).toBe(0)
  })

  test('tells when the oldest leaves and when a slot frees', () => {
    const window = new Window(MINUTE_MS)
    expect(window.msUntilOldestLeaves(at(0))).toBe(0)
    window.take(at(0))
    window.take(at(10_000))
    window.take(at(20_000))
    expect(window.msUntilOldestLeaves(at(20_000))).toBe(40_000)
    expect(window.msUntilSlot(4, at(20_000))).toBe(0)
    expect(window.msUntilSlot(3, at(20_000))).toBe(40_000)
    // A limit lowered to one waits for all but one of the requests before it.
    expect(window.msUntilSlot(1, at(20_000))).toBe(60_000)
  })

  test('a clock that steps back frees no slot early', () => {
    const window = new Window(MINUTE_MS)
    window.take(at(30_000))
    window.take(at(0))
    expect(window.count(at(0))).toBe(2)
    expect(window.count(at(60_000))).toBe(2)
    expect(window.count(at(89_999))).toBe(2)
    expect(window.count(at(90_000))).toBe(0)
  })

  test('a clock that steps back is told the same wait as it will get', () => {
    const window = new Window(MINUTE_MS)
    window.take(at(30_000))
    window.take(at(0))
    expect(window.msUntilSlot(1, at(30_000))).toBe(60_000)
  })

  test('a clock that is set back by a day frees each slot a span after its request all the same', () => {
    const window = new Window(MINUTE_MS)
    const ahead = DAY_MS
    window.take(at(ahead))
    window.take(at(ahead + 20_000))
    expect(window.count(at(ahead + 30_000))).toBe(2)
    expect(window.msUntilSlot(2, at(0))).toBe(30_000)
    window.take(at(10_000))
    expect(window.count(at(29_999))).toBe(3)
    expect(window.count(at(30_000))).toBe(2)
    expect(window.count(at(50_000))).toBe(1)
    expect(window.msUntilOldestLeaves(at(50_000))).toBe(20_000)
    expect(window.count(at(70_000))).toBe(0)
    // Set back again, by an hour.
    window.take(at(70_000))
    expect(window.msUntilSlot(1, at(70_000 - 60 * MINUTE_MS))).toBe(60_000)
  })

  test('a log whose newest lines lie a day ahead takes slots for one span', () => {
    const window = new Window(MINUTE_MS)
    for (const taken of [DAY_MS, DAY_MS + 15_000]) window.take(at(taken))
    expect(window.count(at(0))).toBe(2)
    expect(window.count(at(45_000))).toBe(1)
    expect(window.count(at(60_000))).toBe(0)
  })

  test('grows in the middle of its life without mixing up its requests', () => {
    const window = new Window(MINUTE_MS)
    for (let n = 0; n < 10; n++) window.take(at(n))
    // The first five leave, then more come than it had room for.
    expect(window.count(at(60_004))).toBe(5)
    for (let n = 0; n < 40; n++) window.take(at(60_004 + n))
    expect(window.msUntilOldestLeaves(at(60_004))).toBe(1)
    expect(window.msUntilSlot(45, at(60_004))).toBe(1)
    expect(window.count(at(60_009))).toBe(40)
    expect(window.msUntilSlot(1, at(60_044))).toBe(59_999)
  })
})

describe('its reading', () => {
  test('remaining counts the current request and reset rounds up to whole seconds', () => {
    const window = new Window(MINUTE_MS)
    window.take(at(0))
    expect(readWindow(window, 3, at(1))).toEqual({ limit: 3, remaining: 2, resetSeconds: 60 })
    expect(readWindow(window, 3, at(59_001))).toEqual({ limit: 3, remaining: 2, resetSeconds: 1 })
    expect(readWindow(window, 3, at(60_000))).toEqual({ limit: 3, remaining: 3, resetSeconds: 0 })
  })

  test('a window without a limit has none, and an overdrawn one has nothing left', () => {
    const window = new Window(MINUTE_MS)
    window.take(at(0))
    window.take(at(0))
    expect(readWindow(window, null, at(0))).toBeNull()
    expect(readWindow(null, 3, at(0))).toBeNull()
    expect(readWindow(window, 1, at(0))?.remaining).toBe(0)
  })
})

const someRequests = fc.array(
  fc.record({ passes: fc.oneof(fc.nat(3), fc.nat(70), fc.nat(900)), asks: fc.boolean() }),
  { maxLength: 400 },
)

test('any run of requests is judged as by a plain list of their instants', () => {
  const SPAN = 1_000
  fc.assert(
    fc.property(someRequests, fc.integer({ min: 1, max: 40 }), (steps, limit) => {
      const window = new Window(SPAN)
      const admitted: number[] = []
      let now = T0
      for (const { passes, asks } of steps) {
        now += passes
        const inside = admitted.filter((taken) => taken + SPAN > now)
        expect(window.count(instant(now))).toBe(inside.length)
        expect(window.msUntilOldestLeaves(instant(now))).toBe(
          inside[0] === undefined ? 0 : inside[0] + SPAN - now,
        )
        const wait = window.msUntilSlot(limit, instant(now))
        expect(wait > 0).toBe(inside.length >= limit)
        const insideIn = (ms: number) => inside.filter((taken) => taken + SPAN > now + ms).length
        if (wait > 0) expect(insideIn(wait - 1)).toBeGreaterThanOrEqual(limit)
        if (wait > 0) expect(insideIn(wait)).toBeLessThan(limit)
        if (!asks || wait > 0) continue
        window.take(instant(now))
        admitted.push(now)
      }
      // Whatever span one looks at, no more than the limit were admitted in it.
      for (const [first, start] of admitted.entries()) {
        const end = admitted.findIndex((taken) => taken >= start + SPAN)
        expect((end === -1 ? admitted.length : end) - first).toBeLessThanOrEqual(limit)
      }
    }),
    { numRuns: FULL ? 300 : 50 },
  )
})

test('under a clock that jumps, a slot is never free before its span has passed on that clock', () => {
  const SPAN = 1_000
  const jumps = fc.array(fc.integer({ min: -500, max: 700 }), { maxLength: 200 })
  fc.assert(
    fc.property(jumps, (moves) => {
      const window = new Window(SPAN)
      const taken: number[] = []
      let now = T0
      let furthest = T0
      for (const move of moves) {
        now += move
        furthest = Math.max(furthest, now)
        window.take(instant(now))
        taken.push(now)
        const owed = taken.filter((one) => one + SPAN > furthest).length
        expect(window.count(instant(now))).toBeGreaterThanOrEqual(owed)
      }
    }),
  )
})
