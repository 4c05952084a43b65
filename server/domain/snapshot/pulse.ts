/** Pulse: what a running gateway remembers of its last requests; each costs it a few stores, and figures are made for who looks. */
import type { ActivityEntry } from '../activity.ts'
import type { Instant } from '../clock.ts'
import type { FailureKind } from '../upstream.ts'
import { Endings } from './endings.ts'
import { Latest } from './latest.ts'
import { Seconds } from './seconds.ts'

/** What a log screen shows. */
export const MOST_RECENT = 500
/** Errors that a busy hour of good answers must not push out. */
export const MOST_RECENT_ERRORS = 100
const MOST_FAILURES = 4_096

/** One hop that was asked and failed, whoever answered in its place. */
export interface HopFailure {
  readonly at: Instant
  readonly provider: string
  readonly outcome: FailureKind
  /** The provider's own status, where one came. */
  readonly status: number | null
}

export interface Pulse {
  readonly endings: Endings
  readonly seconds: Seconds
  readonly failures: Latest<HopFailure>
  /** Requests as the log has them; those before the start are in the log alone. */
  readonly recent: Latest<ActivityEntry>
  readonly errors: Latest<ActivityEntry>
  /** A request has ended, or was refused. */
  note(entry: ActivityEntry, at: Instant): void
}

export function startPulse(): Pulse {
  const endings = new Endings()
  const seconds = new Seconds()
  const failures = new Latest<HopFailure>(MOST_FAILURES)
  const recent = new Latest<ActivityEntry>(MOST_RECENT)
  const errors = new Latest<ActivityEntry>(MOST_RECENT_ERRORS)
  return {
    endings,
    seconds,
    failures,
    recent,
    errors,
    note(entry, at) {
      endings.note(entry, at)
      seconds.note(entry, at)
      recent.put(entry)
      if (entry.code !== null) errors.put(entry)
      for (const { provider, outcome, status } of entry.failedAttempts) {
        failures.put({ at, provider, outcome, status })
      }
    },
  }
}
