/** The retry schedule of notices: growing delays over three days, then none (contract §9). */
import { DAY_MS, HOUR_MS, type Instant, later, MINUTE_MS } from '#domain/clock.ts'
import type { NoticeState } from '#domain/notice.ts'
import type { Outcome } from './outcome.ts'

const SECOND_MS = 1_000

/** The delay after the first failure, the second, and so on; after the last, the notice is dead. */
const DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]

/** Spreads the retries of deliveries that failed at the same time. */
const JITTER = 0.1

/** A longer `Retry-After` is shortened to this. */
const MAX_RETRY_AFTER_MS = DAY_MS

export interface FollowUp {
  readonly state: NoticeState
  readonly nextTryAt: Instant | null
}

/**
 * The next state after an attempt that ended `at`, with `earlierTries` failures before it. `Retry-After` can only delay the
 * next attempt. `random` is at least 0 and below 1.
 */
export function followUp(
  earlierTries: number,
  { failure, isFinal, retryAfterMs = 0 }: Outcome,
  at: Instant,
  random: () => number = Math.random,
): FollowUp {
  if (failure === null) return { state: 'delivered', nextTryAt: null }
  const delayMs = DELAYS_MS[earlierTries]
  if (isFinal || delayMs === undefined) return { state: 'dead', nextTryAt: null }
  const jitteredMs = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random()))
  const waitMs = Math.max(jitteredMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
  return { state: 'pending', nextTryAt: later(at, waitMs) }
}
