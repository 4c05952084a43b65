/** The outbox as plain SQL: a courier asks it every moment, and a charge may write to it. */
import type { Database } from 'bun:sqlite'
import { type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import { type AccountId, type EventId, eventsFrom } from '#domain/id.ts'
import type { Channel, DeliveryTry, Notice, NoticeQuery, NoticeState } from '#domain/notice.ts'
import { type OutboxRow, toNotice } from '../../rows/notice-row.ts'
import { statement } from '../engine/statement.ts'

export interface OutboxTable {
  /** One that is there is sent again: its body and its log stay. */
  write(notice: Notice): void
  /** Pending, due at `at` and leased to nobody, the longest due first. */
  due(at: Instant, limit: number): readonly Notice[]
  lease(notice: Notice, until: Instant): void
  /** Makes due what a clock that was set back to `at` has posted, tried or leased in what is now the future. */
  bringForward(at: Instant): void
  /** False where there is no such notice. */
  note(eventId: EventId, channel: Channel, attempt: DeliveryTry): boolean
  /** Ends the lease; one that has ended changes only by arriving. */
  move(eventId: EventId, channel: Channel, state: NoticeState, nextTryAt: Instant | null): void
  /** Those made and last tried before `before` that have ended, with their tries; answers how many. */
  dropEnded(before: Instant, limit: number): number
  list(query: NoticeQuery): readonly Notice[]
  find(eventId: EventId): readonly Notice[]
  log(eventId: EventId, channel: Channel): readonly DeliveryTry[]
}

const COLUMNS =
  'event_id, channel, account_id, type, body, created_at, state, tries, next_try_at' as const

/** Nothing is prepared before it is used. */
export function openOutboxTable(database: Database): OutboxTable {
  return { ...openSending(database), ...openReading(database) }
}

function openSending(
  database: Database,
): Pick<OutboxTable, 'write' | 'due' | 'lease' | 'bringForward' | 'note' | 'move' | 'dropEnded'> {
  const insert = statement<unknown, (string | number | null)[]>(
    database,
    `INSERT INTO outbox (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (event_id, channel) DO UPDATE
     SET state = excluded.state, tries = excluded.tries, next_try_at = excluded.next_try_at, lease_until = NULL`,
  )
  const due = statement<OutboxRow, [Instant, number]>(
    database,
    `SELECT ${COLUMNS} FROM outbox
     WHERE state = 'pending' AND next_try_at <= ?1 AND (lease_until IS NULL OR lease_until <= ?1)
     ORDER BY next_try_at, event_id LIMIT ?2`,
  )
  const lease = statement<unknown, [Instant, EventId, Channel]>(
    database,
    'UPDATE outbox SET lease_until = ? WHERE event_id = ? AND channel = ?',
  )
  const bringForward = statement<unknown, [{ at: Instant; future: Instant }]>(
    database,
    `UPDATE outbox AS o SET next_try_at = $at, lease_until = NULL
     WHERE state = 'pending' AND (lease_until > $future OR $future <
       CASE tries WHEN 0 THEN next_try_at ELSE (
         SELECT t.at FROM delivery_tries t WHERE t.event_id = o.event_id AND t.channel = o.channel
         ORDER BY t.number DESC LIMIT 1) END)`,
  )
  const addTry = statement<
    unknown,
    [EventId, Channel, Instant, number | null, string | null, number]
  >(
    database,
    `INSERT INTO delivery_tries (event_id, channel, number, at, status, failure, ms)
     SELECT event_id, channel,
       (SELECT count(*) + 1 FROM delivery_tries t WHERE t.event_id = o.event_id AND t.channel = o.channel), ?3, ?4, ?5, ?6
     FROM outbox o WHERE event_id = ?1 AND channel = ?2`,
  )
  const move = statement<unknown, [NoticeState, Instant | null, EventId, Channel]>(
    database,
    `UPDATE outbox SET state = ?1, next_try_at = ?2, tries = tries + 1, lease_until = NULL
     WHERE event_id = ?3 AND channel = ?4 AND (state = 'pending' OR ?1 = 'delivered')`,
  )
  const drop = statement<unknown, [{ before: Instant; below: EventId; limit: number }]>(
    database,
    `DELETE FROM outbox WHERE (event_id, channel) IN (
       SELECT event_id, channel FROM outbox o
       WHERE event_id < $below AND state <> 'pending' AND created_at < $before
         AND NOT EXISTS (SELECT 1 FROM delivery_tries t
           WHERE t.event_id = o.event_id AND t.channel = o.channel AND t.at >= $before)
       ORDER BY event_id LIMIT $limit)`,
  )

  return {
    write(notice) {
      const { eventId, channel, accountId, type, body, createdAt, state, tries, nextTryAt } = notice
      insert().run(eventId, channel, accountId, type, body, createdAt, state, tries, nextTryAt)
    },
    due: (at, limit) => due().all(at, limit).map(toNotice),
    lease({ eventId, channel }, until) {
      lease().run(until, eventId, channel)
    },
    bringForward(at) {
      bringForward().run({ at, future: later(at, LARGE_STEP_MS) })
    },
    note: (eventId, channel, { at, status, failure, ms }) =>
      addTry().run(eventId, channel, at, status, failure, ms).changes > 0,
    move(eventId, channel, state, nextTryAt) {
      move().run(state, nextTryAt, eventId, channel)
    },
    dropEnded: (before, limit) => drop().run({ before, below: eventsFrom(before), limit }).changes,
  }
}

function openReading(database: Database): Pick<OutboxTable, 'list' | 'find' | 'log'> {
  const list = statement<
    OutboxRow,
    [
      {
        account: AccountId | null
        operators: number
        state: NoticeState | null
        event: EventId | null
        channel: Channel | null
        limit: number
      },
    ]
  >(
    database,
    `SELECT ${COLUMNS} FROM outbox
     WHERE ($account IS NULL OR account_id = $account OR ($operators = 1 AND account_id IS NULL))
       AND ($state IS NULL OR state = $state)
       AND ($event IS NULL OR event_id < $event OR (event_id = $event AND channel > $channel))
     ORDER BY event_id DESC, channel LIMIT $limit`,
  )
  const find = statement<OutboxRow, [EventId]>(
    database,
    `SELECT ${COLUMNS} FROM outbox WHERE event_id = ? ORDER BY channel`,
  )
  const log = statement<DeliveryTry, [EventId, Channel]>(
    database,
    `SELECT at, status, failure, ms FROM delivery_tries
     WHERE event_id = ? AND channel = ? ORDER BY number`,
  )

  return {
    list: ({ accountId: account = null, withOperators = false, state = null, before, limit }) => {
      const { eventId: event = null, channel = null } = before ?? {}
      const operators = Number(withOperators)
      return list().all({ account, operators, state, event, channel, limit }).map(toNotice)
    },
    find: (eventId) => find().all(eventId).map(toNotice),
    log: (eventId, channel) => log().all(eventId, channel),
  }
}
