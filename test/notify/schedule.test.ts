// When a notice is retried, and when it is given up.
import { expect, test } from 'vitest'
import { instant } from '#domain/clock.ts'
import type { Outcome } from '#notify/outcome.ts'
import { followUp } from '#notify/schedule.ts'

const AT = instant(1_000_000)
const failed = (stated: Partial<Outcome> = {}): Outcome => ({
  status: 500,
  failure: 'status',
  ...stated,
})
const waitMs = (tries: number, outcome = failed(), random = () => 0.5): number | null => {
  const { nextTryAt } = followUp(tries, outcome, AT, random)
  return nextTryAt === null ? null : nextTryAt - AT
}
const HOUR_MS = 3_600_000

test('ten attempts in a little over three days, each interval longer than the last', () => {
  const waits = Array.from({ length: 10 }, (_, tries) => waitMs(tries))
  expect(waits).toEqual([
    5_000,
    300_000,
    1_800_000,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    14 * HOUR_MS,
    20 * HOUR_MS,
    24 * HOUR_MS,
    null,
  ])
  expect(followUp(8, failed(), AT)).toMatchObject({ state: 'pending' })
  expect(followUp(9, failed(), AT)).toEqual({ state: 'dead', nextTryAt: null })
})

test('intervals vary at random by a tenth, either way', () => {
  expect(waitMs(0, failed(), () => 0)).toBe(4_500)
  expect(waitMs(0, failed(), () => 0.999_999)).toBe(5_500)
  const drawn = new Set(Array.from({ length: 20 }, () => followUp(3, failed(), AT).nextTryAt))
  expect(drawn.size).toBeGreaterThan(10)
})

test('Retry-After postpones the next attempt, by a day at most, and never brings it forward', () => {
  expect(waitMs(0, failed({ retryAfterMs: 90_000 }))).toBe(90_000)
  expect(waitMs(1, failed({ retryAfterMs: 90_000 }))).toBe(300_000)
  expect(waitMs(0, failed({ retryAfterMs: 7 * 24 * HOUR_MS }))).toBe(24 * HOUR_MS)
  expect(waitMs(9, failed({ retryAfterMs: 90_000 }))).toBeNull()
})

test('a delivered notice is done, a permanent failure is dead at once', () => {
  expect(followUp(9, { status: 204, failure: null }, AT)).toEqual({
    state: 'delivered',
    nextTryAt: null,
  })
  expect(followUp(0, failed({ status: 410, isFinal: true }), AT)).toEqual({
    state: 'dead',
    nextTryAt: null,
  })
})
