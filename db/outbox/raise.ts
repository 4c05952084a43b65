/** Raises an event in the transaction that is open: with its notices in the outbox, or held back. */
import { HOUR_MS, type Instant, later } from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import { type EventId, eventsFrom } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import type { Channel, NoticeType } from '#domain/notice.ts'
import { heldUntil, type NoticeSettings } from '#domain/notice-settings.ts'
import { count, get, run, type Statements } from '../statements.ts'
import { writeNotice } from './outbox.ts'

/** The settings of notices, as the transaction finds them. */
export type ReadSettings = () => Statements<NoticeSettings>

export interface Sendable {
  readonly id: EventId
  readonly type: NoticeType
  readonly body: string
  readonly at: Instant
}

/** False where an event of its cause and subject is open. */
export function* raise(event: RaisedEvent, readSettings: ReadSettings): Statements<boolean> {
  const { id, cause, severity, body, at } = event
  const added = yield* run(
    `INSERT INTO events (id, cause, subject, severity, body, raised_at)
     VALUES ($id, $cause, $subject, $severity, $body, $at)
     ON CONFLICT (cause, subject) WHERE lifted_at IS NULL DO NOTHING`,
    { ...event },
  )
  if (added === 0) return false
  const settings = yield* readSettings()
  const channels = channelsOf(settings)
  if (channels.length === 0) return true
  const until =
    heldUntil(settings, severity, at) ?? ((yield* isStorm(event)) ? yield* afterStorm(at) : null)
  if (until !== null)
    yield* run('UPDATE events SET held_until = $until WHERE id = $id', { id, until })
  else {
    yield* sendTo(channels, { id, type: cause, body, at })
    yield* run('UPDATE events SET sent_as = id WHERE id = $id', { id })
  }
  return true
}

/**
 * A storm goes out together: what is raised beyond this many in an hour waits for the end of an hour. Each cause and severity has its
 * own, because a client can raise as many of some as it names end users, and must silence nothing else.
 */
const MOST_AN_HOUR = 60

function* isStorm({ at, cause, severity }: RaisedEvent): Statements<boolean> {
  const sent = yield* count(
    'events WHERE id >= $from AND sent_as = id AND cause = $cause AND severity = $severity',
    { from: eventsFrom(later(at, -HOUR_MS)), cause, severity },
  )
  return sent >= MOST_AN_HOUR
}

/** With those that wait already, so that a storm that goes on is told once an hour. */
function* afterStorm(at: Instant): Statements<Instant> {
  const endOfHour = later(at, HOUR_MS)
  const row = yield* get<{ at: Instant | null }>(
    'SELECT min(held_until) AS at FROM events WHERE held_until > $at AND held_until <= $endOfHour',
    { at, endOfHour },
  )
  return row?.at ?? endOfHour
}

/** Writes one notice for each of these channels, due at once. */
export function* sendTo(
  channels: readonly Channel[],
  { id: eventId, type, body, at }: Sendable,
): Statements<void> {
  const rest = { accountId: null, type, body, createdAt: at, tries: 0, nextTryAt: at }
  for (const channel of channels) {
    yield* writeNotice({ eventId, channel, state: 'pending', ...rest })
  }
}
