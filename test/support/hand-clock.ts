/** A clock set by hand: a test moves it in either direction. */
import { type Clock, type Instant, instant } from '#domain/clock.ts'

export interface HandClock extends Clock {
  /** Sets it; no time passes. */
  set(at: Instant): void
  /** Moves by so many milliseconds, which pass; negative steps back. */
  advance(ms: number): void
  /** Sets it forward or back by so many milliseconds; no time passes. */
  step(ms: number): void
}

/** Starts at an instant that RFC 3339 names. */
export function handClock(startsAt: string): HandClock {
  let now = instant(Date.parse(startsAt))
  let passedMs = 0
  return {
    now: () => now,
    monotonicMs: () => passedMs,
    set(at) {
      now = at
    },
    advance(ms) {
      now = instant(now + ms)
      passedMs += Math.max(0, ms)
    },
    step(ms) {
      now = instant(now + ms)
    },
  }
}
