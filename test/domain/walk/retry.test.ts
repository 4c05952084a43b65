// When one hop is asked once more: never where somebody would pay twice, never where waiting is in vain.
import { describe, expect, test } from 'vitest'
import { type FailureDetails, type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { pauseBeforeRetryMs } from '#domain/walk/attempt.ts'
import type { Generate } from '#domain/work.ts'
import { aRequest } from '#test/support/nouns.ts'

const pause = (
  kind: FailureKind,
  details: FailureDetails = {},
  request: Partial<Generate> = {},
): number | null =>
  pauseBeforeRetryMs(new UpstreamFailure(kind, 'broken', details), aRequest(request))

test.each<[FailureKind, number | null]>([
  ['failed', 250],
  ['overloaded', 250],
  ['timeout', null],
  ['rejected', null],
  ['unauthorized', null],
  ['no-image', null],
])('%s: %s ms', (kind, ms) => expect(pause(kind)).toBe(ms))

test.each([
  [1, 1_000],
  [2, 2_000],
  [3, null],
  [73_187, null],
])('Retry-After %i: %s ms', (retryAfterSeconds, ms) => {
  expect(pause('overloaded', { retryAfterSeconds })).toBe(ms)
  expect(pause('failed', { retryAfterSeconds })).toBe(ms)
})

describe('never', () => {
  test.each(['request', 'account'] as const)('where waiting does not help: %s', (permanent) => {
    expect(pause('overloaded', { permanent, retryAfterSeconds: 1 })).toBeNull()
  })

  test('for an image, which may have been generated and billed', () => {
    expect(pause('failed', {}, { wantsImages: true })).toBeNull()
    expect(pause('overloaded', {}, { wantsImages: true })).toBeNull()
  })

  test('for a request that wants exactly one attempt', () => {
    expect(pause('failed', {}, { allowFallbacks: false })).toBeNull()
  })
})
