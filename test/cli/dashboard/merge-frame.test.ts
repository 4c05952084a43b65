/** A frame over the snapshot before it: what came replaces, lines of the log go on top, and no more are kept than fit. */
import { expect, test } from 'vitest'
import { mergeFrame } from '#cli/dashboard/merge-frame.ts'
import { ended, SNAPSHOT } from './fixed-snapshot.ts'

test('parts that came replace theirs, all others stay', () => {
  const merged = mergeFrame(SNAPSHOT, {
    at: 'later',
    in_flight: { count: 0, peak: 31, requests: [] },
  })
  expect(merged).toEqual({
    ...SNAPSHOT,
    at: 'later',
    in_flight: { count: 0, peak: 31, requests: [] },
  })
})

test('new lines of the log go on top of the known', () => {
  const { log, errors } = mergeFrame(SNAPSHOT, { at: 'later', log: [ended(99), ended(98)] })
  expect(log.slice(0, 3)).toEqual([ended(99), ended(98), SNAPSHOT.log[0]])
  expect(log).toHaveLength(SNAPSHOT.log.length + 2)
  expect(errors).toBe(SNAPSHOT.errors)
})

test('of the log 500 lines are kept, of errors 100', () => {
  const many = Array.from({ length: 800 }, (_, place) => ended(place))
  const { log, errors } = mergeFrame(SNAPSHOT, { at: 'later', log: many, errors: many })
  expect([log.length, errors.length, log[0]?.id]).toEqual([500, 100, ended(0).id])
})
