/** The outbox: what is on its way, and what became of it. How a courier claims what is due is each engine's own. */
import type { Instant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { type AccountId, type EventId, eventsFrom } from '#domain/id.ts'
import type {
  Channel,
  DeliveryTry,
  Notice,
  NoticeState,
  Notices,
  NoticeType,
} from '#domain/notice.ts'
import { noteAct } from '../log/acts.ts'
import { all, type Engine, type Named, run, type Statements } from '../statements.ts'

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

/** In the transaction of what causes it. One that is there is sent again: its body and its log stay. */
export function* writeNotice(notice: Notice): Statements<void> {
  yield* run(
    `INSERT INTO outbox (event_id, channel, account_id, type, body, created_at, state, tries, next_try_at)
     VALUES ($eventId, $channel, $accountId, $type, $body, $createdAt, $state, $tries, $nextTryAt)
     ON CONFLICT (event_id, channel) DO UPDATE
     SET state = excluded.state, tries = excluded.tries, next_try_at = excluded.next_try_at, lease_until = NULL`,
    { ...notice },
  )
}

/** Ends the lease; who else tried the notice waits, so that each counts the tries before its own. */
const endLease = (of: Named): Statements<number> =>
  run('UPDATE outbox SET lease_until = NULL WHERE event_id = $eventId AND channel = $channel', of)

/** One that has ended changes only by arriving. */
const move = (of: Named, state: NoticeState, nextTryAt: Instant | null): Statements<number> =>
  run(
    `UPDATE outbox SET state = $state, next_try_at = $nextTryAt, tries = tries + 1
     WHERE event_id = $eventId AND channel = $channel AND (state = 'pending' OR CAST($state AS text) = 'delivered')`,
    { ...of, state, nextTryAt },
  )

/** `settled` resolves when what has happened by now is in the outbox. */
export const createOutbox = (
  engine: Engine,
  settled: () => Promise<void>,
): Omit<Notices, 'claim'> => ({
  post: (notices, act) =>
    engine.change(function* () {
      yield* noteAct(act)
      for (const notice of notices) yield* writeNotice(notice)
    }),

  tried: (eventId, channel, attempt, { state, nextTryAt }) =>
    engine.writeDurably(function* () {
      const of = { eventId, channel }
      if ((yield* endLease(of)) === 0) {
        throw new GatewayError('notice_not_found', `there is no notice ${eventId} by ${channel}`)
      }
      yield* run(
        `INSERT INTO delivery_tries (event_id, channel, number, at, status, failure, ms)
         SELECT CAST($eventId AS text), CAST($channel AS text), count(*) + 1,
           CAST($at AS bigint), CAST($status AS bigint), CAST($failure AS text), CAST($ms AS bigint)
         FROM delivery_tries WHERE event_id = $eventId AND channel = $channel`,
        { ...attempt, ...of },
      )
      yield* move(of, state, nextTryAt)
    }),

  async list({ accountId, withOperators = false, state = null, before, limit }) {
    await settled()
    const rows = await engine.read(() =>
      all<OutboxRow>(
        `SELECT * FROM outbox
         WHERE (CAST($account AS text) IS NULL OR account_id = $account ${withOperators ? 'OR account_id IS NULL' : ''})
           AND (CAST($state AS text) IS NULL OR state = $state)
           AND (CAST($event AS text) IS NULL OR event_id < $event OR (event_id = $event AND channel > $channel))
         ORDER BY event_id DESC, channel LIMIT $limit`,
        {
          account: accountId ?? null,
          state,
          event: before?.eventId ?? null,
          channel: before?.channel ?? null,
          limit,
        },
      ),
    )
    return rows.map(toNotice)
  },

  async find(eventId) {
    await engine.settled()
    const rows = await engine.read(() =>
      all<OutboxRow>('SELECT * FROM outbox WHERE event_id = $eventId ORDER BY channel', {
        eventId,
      }),
    )
    const tries = await engine.read(() =>
      all<DeliveryTry & { readonly channel: Channel }>(
        'SELECT channel, at, status, failure, ms FROM delivery_tries WHERE event_id = $eventId ORDER BY number',
        { eventId },
      ),
    )
    return rows.map((row) => ({
      ...toNotice(row),
      log: tries
        .filter(({ channel }) => channel === row.channel)
        .map(({ channel: _, ...attempt }) => attempt),
    }))
  },

  trim: (before, limit) =>
    engine.tryRun(
      `DELETE FROM outbox WHERE (event_id, channel) IN (
         SELECT event_id, channel FROM outbox o
         WHERE event_id < $below AND state <> 'pending' AND created_at < $before
           AND NOT EXISTS (SELECT 1 FROM delivery_tries t
             WHERE t.event_id = o.event_id AND t.channel = o.channel AND t.at >= $before)
         ORDER BY event_id LIMIT $limit)`,
      { before, below: eventsFrom(before), limit },
    ),
})
