/** A notice as its row and as the domain's noun. */
import type { Instant } from '#domain/clock.ts'
import type { AccountId, EventId } from '#domain/id.ts'
import type { Channel, Notice, NoticeState, NoticeType } from '#domain/notice.ts'

export interface OutboxRow {
  readonly event_id: EventId
  readonly channel: Channel
  readonly account_id: AccountId | null
  readonly type: NoticeType
  readonly body: string
  readonly created_at: Instant
  readonly state: NoticeState
  readonly tries: number
  readonly next_try_at: Instant | null
}

export const toNotice = (row: OutboxRow): Notice => ({
  eventId: row.event_id,
  channel: row.channel,
  accountId: row.account_id,
  type: row.type,
  body: row.body,
  createdAt: row.created_at,
  state: row.state,
  tries: row.tries,
  nextTryAt: row.next_try_at,
})

/**
 * A storm goes out together: what is raised beyond this many in an hour waits for the end of an hour. Each cause and severity has its
 * own, because a client can raise as many of some as it names end users, and must silence nothing else.
 */
export const MOST_AN_HOUR = 60

export interface Sendable {
  readonly id: EventId
  readonly type: NoticeType
  readonly body: string
  readonly at: Instant
}

/** One notice for each of these channels, due at once. */
export const noticesOf = (
  channels: readonly Channel[],
  { id: eventId, type, body, at }: Sendable,
): readonly Notice[] =>
  channels.map((channel) => ({
    eventId,
    channel,
    accountId: null,
    type,
    body,
    createdAt: at,
    state: 'pending',
    tries: 0,
    nextTryAt: at,
  }))
