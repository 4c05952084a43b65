/** Pulse: the gateway's in-memory record of recent requests. Recording one costs a few stores; figures are computed on demand. */
import type { ActivityEntry } from '../activity.ts'
import type { Instant } from '../clock.ts'
import type { FailureKind } from '../upstream.ts'
import { Endings } from './endings.ts'
import { Latest } from './latest.ts'
import { Seconds } from './seconds.ts'

/** The size of the dashboard's log screen. */
export const MAX_RECENT = 500
/** Errors are kept separately, so that many successful requests do not displace them. */
export const MAX_RECENT_ERRORS = 100
const MAX_FAILURES = 4_096

/** A failed attempt, whether or not another hop answered. */
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
  /** Log entries since the start of the process. */
  readonly recent: Latest<ActivityEntry>
  readonly errors: Latest<ActivityEntry>
  /** Records a request that ended or was refused. */
  note(entry: ActivityEntry, at: Instant): void
}

export function startPulse(): Pulse {
  const endings = new Endings()
  const seconds = new Seconds()
  const failures = new Latest<HopFailure>(MAX_FAILURES)
  const recent = new Latest<ActivityEntry>(MAX_RECENT)
  const errors = new Latest<ActivityEntry>(MAX_RECENT_ERRORS)
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
