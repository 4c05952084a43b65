// The time by which data is deleted: a wrong clock ahead moves it only after a while, and one that is right never delays it.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, type Instant, later, MINUTE_MS } from '#domain/clock.ts'
import { createSteadyClock } from '#domain/steady-clock.ts'
import { handClock } from '#test/support/hand-clock.ts'

const NOON = '2026-08-22T12:00:00Z'

function start(last?: (now: Instant) => Instant) {
  const clock = handClock(NOON)
  return { clock, steady: createSteadyClock(clock, last ? last(clock.now()) : null) }
}

test('follows a clock that is right, and one that is set back', () => {
  const { clock, steady } = start()
  clock.advance(30 * DAY_MS)
  expect(steady.now()).toBe(clock.now())
  clock.step(-3 * DAY_MS)
  expect(steady.now()).toBe(clock.now())
  expect(steady.jump()).toBeNull()
})

test('goes on by the time that passes while the clock is ahead, and follows it once it is right', () => {
  const { clock, steady } = start()
  const began = clock.now()
  clock.step(400 * DAY_MS)
  expect(steady.now()).toBe(began)
  clock.advance(HOUR_MS)
  expect(steady.now()).toBe(later(began, HOUR_MS))
  expect(steady.jump()).toEqual({ aheadMs: 400 * DAY_MS, restMs: 23 * HOUR_MS })
  clock.step(-400 * DAY_MS)
  expect(steady.now()).toBe(clock.now())
  expect(steady.jump()).toBeNull()
})

test.each([
  [3 * HOUR_MS, 3 * HOUR_MS],
  [400 * DAY_MS, DAY_MS],
])('believes a jump of %i ms that stays for %i ms', (jumpMs, doubtMs) => {
  const { clock, steady } = start()
  clock.step(jumpMs)
  steady.now()
  clock.advance(doubtMs - 1)
  expect(steady.now()).toBe(later(clock.now(), -jumpMs))
  clock.advance(1)
  expect(steady.now()).toBe(clock.now())
  expect(steady.jump()).toBeNull()
})

test('a restart is no proof: a clock ahead of the last time that was believed is doubted as well', () => {
  const { clock, steady } = start((now) => later(now, -2 * HOUR_MS))
  expect(steady.now()).toBe(later(clock.now(), -2 * HOUR_MS))
  // Nothing tells it from a stop of two hours.
  expect(steady.jump()).toEqual({ aheadMs: 0, restMs: 2 * HOUR_MS })
  clock.step(3 * HOUR_MS)
  expect(steady.jump()).toEqual({ aheadMs: 3 * HOUR_MS, restMs: 5 * HOUR_MS })
  clock.step(-3 * HOUR_MS)
  expect(steady.jump()).toMatchObject({ aheadMs: 0 })
  clock.advance(2 * HOUR_MS)
  expect(steady.now()).toBe(clock.now())
  clock.step(HOUR_MS)
  expect(steady.jump()).toEqual({ aheadMs: HOUR_MS, restMs: HOUR_MS })
})

test('whatever the clock does, it is never ahead of the time that passed while a jump is younger than itself and a day', () => {
  const moves = fc.array(
    fc.record({
      // Mostly it goes on as it is: a jump that does not stay is never believed anyway.
      stepMs: fc.oneof(
        { weight: 9, arbitrary: fc.constant(0) },
        fc.integer({ min: -9 * DAY_MS, max: 9 * DAY_MS }),
      ),
      passMs: fc.integer({ min: 0, max: 20 * MINUTE_MS }),
    }),
    { maxLength: 40, size: 'max' },
  )
  fc.assert(
    fc.property(moves, (all) => {
      const { clock, steady } = start()
      // Each pass of twenty minutes at most, forty of them: no jump of a day or more is ever believed.
      let line = clock.now()
      for (const { stepMs, passMs } of all) {
        const jumpMs = Math.abs(stepMs) < 14 * HOUR_MS ? -Math.abs(stepMs) : stepMs
        clock.step(jumpMs)
        steady.now()
        clock.advance(passMs)
        const at = steady.now()
        expect(at).toBeLessThanOrEqual(clock.now())
        line = later(line, passMs)
        const isFarAhead = clock.now() - line > 14 * HOUR_MS
        if (isFarAhead) expect(at).toBeLessThanOrEqual(line)
        // What is left of a jump that was nearly set right is short enough to be believed by now.
        line = isFarAhead && line < at ? line : at
      }
    }),
  )
})
