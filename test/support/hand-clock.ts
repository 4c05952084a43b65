/** A clock set by hand: a test moves it in either direction. */
import { type Clock, type Instant, instant } from '#domain/clock.ts'

export interface HandClock extends Clock {
  set(at: Instant): void
  /** Moves by so many milliseconds; negative steps back. */
  advance(ms: number): void
}

/** Starts at an instant that RFC 3339 names. */
export function handClock(startsAt: string): HandClock {
  let now = instant(Date.parse(startsAt))
  return {
    now: () => now,
    set(at) {
      now = at
    },
    advance(ms) {
      now = instant(now + ms)
    },
  }
}
