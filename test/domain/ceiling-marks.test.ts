/** Marks of a ceiling: which share is passed, and from what on the next is. */
import { expect, test } from 'vitest'
import { passedMark } from '#domain/ceiling-marks.ts'
import type { UsdNanos } from '#domain/money.ts'

/** More than can be spent. */
const NO_MARK = 2n ** 63n

const nanos = (amount: bigint) => amount as UsdNanos

test.each([
  [79n, [80, 100], { percent: null, next: 80n }],
  [80n, [80, 100], { percent: 80, next: 100n }],
  [99n, [80, 100], { percent: 80, next: 100n }],
  [100n, [80, 100], { percent: 100, next: NO_MARK }],
  [250n, [80, 100], { percent: 100, next: NO_MARK }],
  [250n, [80, 100, 200], { percent: 200, next: NO_MARK }],
  [100n, [], { percent: null, next: NO_MARK }],
])('%s of 100 at %j', (spent, percents, expected) => {
  expect(passedMark(nanos(spent), nanos(100n), percents)).toEqual(expected)
})

test('a share is rounded up, and no ceiling has none', () => {
  expect(passedMark(nanos(2n), nanos(3n), [80])).toEqual({ percent: null, next: 3n })
  expect(passedMark(nanos(2n), null, [80])).toEqual({ percent: null, next: NO_MARK })
})
