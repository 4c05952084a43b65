/** An event as its row and as the domain's noun. */
import { CAUSE_NAMES, CAUSES, type CauseName, type Severity } from '#domain/cause.ts'
import type { Instant } from '#domain/clock.ts'
import type { StoredEvent } from '#domain/event.ts'
import type { EventId } from '#domain/id.ts'

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
