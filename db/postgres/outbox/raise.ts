/** Raises an event in the transaction that is open: with its notices in the outbox, or held back. */
import { HOUR_MS, type Instant, later } from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import { eventsFrom } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import type { Channel } from '#domain/notice.ts'
import { heldUntil } from '#domain/notice-settings.ts'
import { MOST_AN_HOUR, noticesOf, type Sendable } from '../../rows/notice-row.ts'
import type { Sql } from '../engine/database.ts'
import { readSettings } from './notice-settings.ts'
import { writeNotice } from './write-notice.ts'

/** False where an event of its cause and subject is open. */
export async function raise(tx: Sql, event: RaisedEvent): Promise<boolean> {
  const { id, cause, subject, severity, body, at } = event
  const added = await tx.run(
    `INSERT INTO events (id, cause, subject, severity, body, raised_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (cause, subject) WHERE lifted_at IS NULL DO NOTHING`,
    ...[id, cause, subject, severity, body, at],
  )
  if (added === 0) return false
  const settings = await readSettings(tx)
  const channels = channelsOf(settings)
  if (channels.length === 0) return true
  const until =
    heldUntil(settings, severity, at) ??
    ((await isStorm(tx, event)) ? await afterStorm(tx, at) : null)
  if (until !== null) await tx.run('UPDATE events SET held_until = ? WHERE id = ?', until, id)
  else if (await send(tx, channels, { id, type: cause, body, at })) {
    await tx.run('UPDATE events SET sent_as = id WHERE id = ?', id)
  }
  return true
}

async function isStorm(tx: Sql, { at, cause, severity }: RaisedEvent): Promise<boolean> {
  const row = await tx.get<{ n: number }>(
    'SELECT count(*) AS n FROM events WHERE id >= ? AND sent_as = id AND cause = ? AND severity = ?',
    ...[eventsFrom(later(at, -HOUR_MS)), cause, severity],
  )
  return (row?.n ?? 0) >= MOST_AN_HOUR
}

/** With those that wait already, so that a storm that goes on is told once an hour. */
async function afterStorm(tx: Sql, at: Instant): Promise<Instant> {
  const endOfHour = later(at, HOUR_MS)
  const row = await tx.get<{ at: Instant | null }>(
    'SELECT min(held_until) AS at FROM events WHERE held_until > ? AND held_until <= ?',
    at,
    endOfHour,
  )
  return row?.at ?? endOfHour
}

/** Writes one notice for each of these channels, due at once; false where there is none. */
export async function send(
  tx: Sql,
  channels: readonly Channel[],
  what: Sendable,
): Promise<boolean> {
  for (const notice of noticesOf(channels, what)) await writeNotice(tx, notice)
  return channels.length > 0
}
