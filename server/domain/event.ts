/** An event: a cause that was raised, and is told once by each channel. */
import type { Act } from './act.ts'
import { CAUSES, type CauseFacts, type CauseName, type Severity, WORST_FIRST } from './cause.ts'
import { type Instant, renderInstant } from './clock.ts'
import { type AccountId, type EventId, newEventId } from './id.ts'

/** An event as it is raised. */
export interface RaisedEvent {
  readonly id: EventId
  readonly cause: CauseName
  readonly subject: string
  readonly severity: Severity
  readonly at: Instant
  /** The JSON text that is sent and signed. */
  readonly body: string
}

export interface StoredEvent extends RaisedEvent {
  /** Null while it goes on, and for what happened and is over. */
  readonly liftedAt: Instant | null
  /** When an operator saw it; null until then. */
  readonly seenAt: Instant | null
  /** While it is held back (quiet hours, a digest): until then. */
  readonly heldUntil: Instant | null
  /** Under which event it was handed to the outbox: its own, or that of a digest; null while held, and where nobody is to be told. */
  readonly sentAs: EventId | null
}

export interface EventQuery {
  /** Only what names this account in its facts. */
  readonly accountId?: AccountId
  readonly unseenOnly?: boolean
  /** Only those of causes that last, and are not lifted. */
  readonly openOnly?: boolean
  /** Only older ones: the last of the page before. */
  readonly before?: EventId
  readonly limit: number
}

/** Port: what was raised. */
export interface Events {
  /**
   * The one way in which a cause is raised outside a settlement: writes the event, unless one of its cause and subject is open,
   * and with it its notices, or holds them back as the settings say. Durable before it resolves; false if it was known.
   */
  raise(event: RaisedEvent, act: Act | null): Promise<boolean>
  /** Ends what lasts, and raises `then` with it; false, and nothing raised, where none was open. Durable before it resolves. */
  lift(cause: CauseName, subject: string, at: Instant, then: RaisedEvent | null): Promise<boolean>
  /** Hands what was held back to the outbox, several as one digest; returns how many events. */
  release(at: Instant): Promise<number>
  /** Newest first. */
  list(query: EventQuery): Promise<readonly StoredEvent[]>
  find(id: EventId): Promise<StoredEvent | undefined>
  unseen(): Promise<number>
  /** Marks what was raised up to this event; returns how many were unseen. */
  see(upTo: EventId, act: Act): Promise<number>
  /** Removes events that were raised before; at most `limit`. Returns how many. What still lasts then is told again. */
  trim(before: Instant, limit: number): Promise<number>
}

/** An event with its final words. */
export function draftEvent<Name extends CauseName>(
  cause: Name,
  facts: CauseFacts[Name],
  at: Instant,
  id: EventId = newEventId(at),
): RaisedEvent {
  const { severity, subject, message, hint } = CAUSES[cause]
  const how = severity(facts)
  const data = { severity: how, message: message(facts), hint: hint(facts), ...facts }
  const isTest = cause === 'gateway.test'
  return {
    id,
    cause,
    subject: isTest ? id : subject(facts),
    severity: how,
    at,
    body: JSON.stringify({
      type: cause,
      id,
      timestamp: renderInstant(at),
      data,
      ...(isTest && { test: true }),
    }),
  }
}

/** What every body has. */
export interface EventBody {
  readonly type: string
  readonly id: string
  readonly timestamp: string
  readonly data: {
    readonly severity: Severity
    readonly message: string
    readonly hint: string
    readonly [fact: string]: unknown
  }
  readonly test?: true
}

export const DIGEST = 'gateway.digest' as const

/** One event for several that were held back; each is in it whole. */
export function draftDigest(
  events: readonly RaisedEvent[],
  at: Instant,
): { readonly id: EventId; readonly body: string } {
  const id = newEventId(at)
  const severity = WORST_FIRST.find((one) => events.some((event) => event.severity === one))
  const body = {
    type: DIGEST,
    id,
    timestamp: renderInstant(at),
    data: {
      severity,
      message: `${events.length} notices`,
      hint: 'gatewayctl notices list',
      notices: events.map((event): EventBody => JSON.parse(event.body)),
    },
  }
  return { id, body: JSON.stringify(body) }
}
