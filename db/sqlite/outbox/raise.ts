/** Raises an event in the transaction that is open: with its notices in the outbox, or held back. */
import type { Database } from 'bun:sqlite'
import { HOUR_MS, type Instant, later } from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import { type EventId, eventsFrom } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import { heldUntil } from '#domain/notice-settings.ts'
import { MOST_AN_HOUR, noticesOf, type Sendable } from '../../rows/notice-row.ts'
import { statement } from '../engine/statement.ts'
import type { HeldNoticeSettings } from './notice-settings.ts'
import { openOutboxTable } from './outbox-table.ts'

/** False where an event of its cause and subject is open. */
export type Raise = (event: RaisedEvent) => boolean

export function prepareRaise(database: Database, settings: HeldNoticeSettings): Raise {
  const send = prepareSend(database, settings)
  const insert = statement<unknown, [EventId, string, string, string, string, Instant]>(
    database,
    `INSERT INTO events (id, cause, subject, severity, body, raised_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (cause, subject) WHERE lifted_at IS NULL DO NOTHING`,
  )
  const hold = statement<unknown, [Instant, EventId]>(
    database,
    'UPDATE events SET held_until = ? WHERE id = ?',
  )
  const sent = statement<unknown, [EventId, EventId]>(
    database,
    'UPDATE events SET sent_as = ? WHERE id = ?',
  )
  const nextRelease = statement<{ at: Instant | null }, [Instant, Instant]>(
    database,
    'SELECT min(held_until) AS at FROM events WHERE held_until > ? AND held_until <= ?',
  )
  const countSince = statement<{ n: number }, [EventId, string, string]>(
    database,
    'SELECT count(*) AS n FROM events WHERE id >= ? AND sent_as = id AND cause = ? AND severity = ?',
  )

  return (event) => {
    const { id, cause, subject, severity, body, at } = event
    if (insert().run(id, cause, subject, severity, body, at).changes === 0) return false
    const current = settings.current()
    if (channelsOf(current).length === 0) return true
    const isStorm = (): boolean =>
      (countSince().get(eventsFrom(later(at, -HOUR_MS)), cause, severity)?.n ?? 0) >= MOST_AN_HOUR
    const endOfHour = later(at, HOUR_MS)
    // With those that wait already, so that a storm that goes on is told once an hour.
    const afterStorm = (): Instant => nextRelease().get(at, endOfHour)?.at ?? endOfHour
    const until = heldUntil(current, severity, at) ?? (isStorm() ? afterStorm() : null)
    if (until !== null) hold().run(until, id)
    else if (send({ id, type: cause, body, at })) sent().run(id, id)
    return true
  }
}

/** Writes one notice for each of the operator's channels, due at once; false where there is none. */
export function prepareSend(
  database: Database,
  settings: HeldNoticeSettings,
): (what: Sendable) => boolean {
  const outbox = openOutboxTable(database)
  return (what) => {
    const notices = noticesOf(channelsOf(settings.current()), what)
    for (const notice of notices) outbox.write(notice)
    return notices.length > 0
  }
}
