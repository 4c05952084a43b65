/** QuotaReading: what is left of a key's windows at one instant, for the rate headers (contract §4). */
import type { Instant } from './clock.ts'
import type { Window } from './window.ts'

export interface WindowReading {
  readonly limit: number
  readonly remaining: number
  /** Whole seconds, rounded up, until the oldest request leaves the window; 0 when it is empty. */
  readonly resetSeconds: number
}

/** A window with no limit set has no reading. */
export interface QuotaReading {
  readonly minute: WindowReading | null
  readonly day: WindowReading | null
}

export const NO_QUOTA: QuotaReading = { minute: null, day: null }

export function readWindow(
  window: Window | null,
  limit: number | null,
  now: Instant,
): WindowReading | null {
  if (window === null || limit === null) return null
  return {
    limit,
    remaining: Math.max(0, limit - window.count(now)),
    resetSeconds: Math.ceil(window.msUntilOldestLeaves(now) / 1000),
  }
}
