/** When a price or a rate takes effect. */
import { type Instant, renderInstant } from '#domain/clock.ts'
import { invalidInput } from './verb.ts'

/**
 * Null: now. @throws invalid_request for a time that has passed, from which something else has served: it would change nothing
 */
export function effectiveFrom(from: Instant | null, now: Instant): Instant {
  if (from === null || from >= now) return from ?? now
  throw invalidInput('from', `${renderInstant(from)} has passed: without it, this applies at once`)
}
