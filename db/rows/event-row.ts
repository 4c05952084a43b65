/** An event as its row and as the domain's noun. */
import { CAUSE_NAMES, CAUSES, type CauseName, type Severity } from '#domain/cause.ts'
import type { Instant } from '#domain/clock.ts'
import { DIGEST, draftDigest, type StoredEvent } from '#domain/event.ts'
import type { EventId } from '#domain/id.ts'
import type { Sendable } from './notice-row.ts'

export interface EventRow {
  readonly id: EventId
  readonly cause: CauseName
  readonly subject: string
  readonly severity: Severity
  readonly body: string
  readonly raised_at: Instant
  readonly lifted_at: Instant | null
  readonly seen_at: Instant | null
  readonly held_until: Instant | null
  readonly sent_as: EventId | null
}

export const LASTING = CAUSE_NAMES.filter((name) => CAUSES[name].lasts)

/** So that a digest stays a mail that can be read. */
export const MOST_IN_DIGEST = 100

export const toEvent = (row: EventRow): StoredEvent => ({
  id: row.id,
  cause: row.cause,
  subject: row.subject,
  severity: row.severity,
  body: row.body,
  at: row.raised_at,
  liftedAt: row.lifted_at,
  seenAt: row.seen_at,
  heldUntil: row.held_until,
  sentAs: row.sent_as,
})

/** What was held back, as it goes out together; null where nothing was. */
export function releasedTogether(events: readonly StoredEvent[], at: Instant): Sendable | null {
  const [only] = events
  if (only === undefined) return null
  return events.length === 1
    ? { id: only.id, type: only.cause, body: only.body, at }
    : { ...draftDigest(events, at), type: DIGEST, at }
}
