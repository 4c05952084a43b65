/** The time by which data is deleted for its age: it believes a clock that jumps ahead only after a while. */
import { type Clock, DAY_MS, elapsedMs, type Instant, LARGE_STEP_MS, later } from './clock.ts'

/** A jump ahead is believed at the latest after the clock has kept to it for so long: by then whoever is told of it has looked. */
const MAX_DOUBT_MS = DAY_MS

/** Port: the last time that was believed, which survives a restart. */
export interface SteadyTime {
  /** Null before the first `note`. */
  last(): Promise<Instant | null>
  note(at: Instant): Promise<void>
}

/** A jump of the clock that is not believed yet. */
export interface ClockJump {
  /** 0 where nothing tells it from the time that passed while nothing ran. */
  readonly aheadMs: number
  /** Until it is believed, unless the clock is set right before. */
  readonly restMs: number
}

/** A clock that goes on by the time that passes where the other one jumps ahead; set back, it follows at once. */
export interface SteadyClock extends Clock {
  /** Null while the clock is believed. */
  jump(): ClockJump | null
}

/**
 * `last` is the last time that a process before this one believed; null where none did. A jump by more than five minutes is
 * believed once the clock has kept to it for as long as it is, or for a day. What lies between `last` and the start may be a stop.
 */
export function createSteadyClock(clock: Clock, last: Instant | null): SteadyClock {
  let at = last ?? clock.now()
  let atMs = clock.monotonicMs()
  let stoppedMs = elapsedMs(at, clock.now())
  let doubted: { readonly aheadMs: number; readonly untilMs: number } | null = null

  const now = (): Instant => {
    const nowMs = clock.monotonicMs()
    at = later(at, nowMs - atMs)
    atMs = nowMs
    const told = clock.now()
    const aheadMs = elapsedMs(at, told)
    const isKnown = doubted !== null && Math.abs(aheadMs - doubted.aheadMs) <= LARGE_STEP_MS
    if (aheadMs > LARGE_STEP_MS && !isKnown) {
      doubted = { aheadMs, untilMs: nowMs + Math.min(aheadMs, MAX_DOUBT_MS) }
    } else if (aheadMs <= LARGE_STEP_MS || (doubted !== null && nowMs >= doubted.untilMs)) {
      at = told
      doubted = null
      stoppedMs = 0
    }
    return at
  }

  return {
    now,
    monotonicMs: clock.monotonicMs,
    jump() {
      now()
      if (doubted === null) return null
      const aheadMs = doubted.aheadMs - stoppedMs
      return {
        aheadMs: aheadMs > LARGE_STEP_MS ? aheadMs : 0,
        restMs: Math.max(0, doubted.untilMs - atMs),
      }
    },
  }
}
