/** When a price or a rate takes effect. */
import { type Instant, renderInstant } from '#domain/clock.ts'
import { invalidInput } from './verb.ts'

interface Moment {
  readonly now: Instant
  /** From when on that is in force which is in force now; null where nothing is. */
  readonly since: Instant | null
}

/** Null: now. @throws invalid_request for a time before what is in force began, from which it would change nothing */
export function effectiveFrom(from: Instant | null, { now, since }: Moment): Instant {
  if (from === null || from >= now || since === null || from >= since) return from ?? now
  const what = `what was set from ${renderInstant(since)} on is in force`
  throw invalidInput('from', `would change nothing: ${what}; without it, this applies at once`)
}
