/** The outbox in PostgreSQL: couriers of several nodes share it, each notice claimed by one. */
import { type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { eventsFrom } from '#domain/id.ts'
import type { DeliveryTry, Notices } from '#domain/notice.ts'
import { type OutboxRow, toNotice } from '../../rows/notice-row.ts'
import type { Database } from '../engine/database.ts'
import { STORE_NOW } from '../engine/store-time.ts'
import { noteAct } from '../log/acts.ts'
import type { Marks } from './passed-marks.ts'
import { writeNotice } from './write-notice.ts'

/** Another node that has leased the notice `o`, and its clock: that of the database, and how far it is ahead of it. */
const HOLDER = `SELECT ${STORE_NOW} + n.ahead_ms
  FROM nodes n WHERE n.epoch = o.leased_by AND n.epoch <> $epoch`

export function createNotices(database: Database, marks: Marks): Notices {
  /** When notices were last claimed here; null before the first time, because the clock may have been set back while nothing ran. */
  let claimedAt: Instant | null = null

  /** Makes due what a clock that was set back has posted, tried or leased in what is now the future. */
  const noteClock = async (at: Instant): Promise<void> => {
    if (claimedAt === null || at < later(claimedAt, -LARGE_STEP_MS)) {
      await database.run(
        `UPDATE outbox AS o SET next_try_at = $at, lease_until = NULL, leased_by = NULL
         WHERE state = 'pending' AND NOT EXISTS (${HOLDER}) AND (lease_until > $future OR $future <
           CASE tries WHEN 0 THEN next_try_at ELSE (
             SELECT t.at FROM delivery_tries t WHERE t.event_id = o.event_id AND t.channel = o.channel
             ORDER BY t.number DESC LIMIT 1) END)`,
        { at, future: later(at, LARGE_STEP_MS), epoch: database.owner.epoch },
      )
    }
    claimedAt = at
  }

  return {
    post: (notices, act) =>
      database.change(async (tx) => {
        await noteAct(tx, act)
        for (const notice of notices) await writeNotice(tx, notice)
      }),

    async claim(at, leaseUntil, limit) {
      await database.flush()
      await marks.tell()
      await noteClock(at)
      const rows = await database.all<OutboxRow>(
        `WITH due AS (
           SELECT event_id, channel FROM outbox o
           WHERE state = 'pending' AND next_try_at <= $at AND (lease_until IS NULL OR lease_until <= coalesce((${HOLDER}), $at))
           ORDER BY next_try_at, event_id LIMIT $limit FOR UPDATE OF o SKIP LOCKED)
         UPDATE outbox o SET lease_until = $leaseUntil, leased_by = $epoch FROM due
         WHERE o.event_id = due.event_id AND o.channel = due.channel RETURNING o.*`,
        { at, leaseUntil, limit, epoch: database.owner.epoch },
      )
      return rows
        .toSorted(
          (a, b) =>
            (a.next_try_at ?? 0) - (b.next_try_at ?? 0) || (a.event_id < b.event_id ? -1 : 1),
        )
        .map(toNotice)
    },

    tried: (eventId, channel, { at, status, failure, ms }, { state, nextTryAt }) =>
      database.transact(async (tx) => {
        const added = await tx.run(
          `INSERT INTO delivery_tries (event_id, channel, number, at, status, failure, ms)
           SELECT event_id, channel,
             (SELECT count(*) + 1 FROM delivery_tries t WHERE t.event_id = o.event_id AND t.channel = o.channel),
             $at::bigint, $status::bigint, $failure::text, $ms::bigint
           FROM outbox o WHERE event_id = $eventId AND channel = $channel FOR UPDATE OF o`,
          { at, status, failure, ms, eventId, channel },
        )
        if (added === 0) {
          throw new GatewayError('notice_not_found', `there is no notice ${eventId} by ${channel}`)
        }
        await tx.run(
          `UPDATE outbox SET state = $state, next_try_at = $nextTryAt, tries = tries + 1, lease_until = NULL, leased_by = NULL
           WHERE event_id = $eventId AND channel = $channel AND (state = 'pending' OR $state::text = 'delivered')`,
          { state, nextTryAt, eventId, channel },
        )
      }),

    async list({ accountId, withOperators = false, state = null, before, limit }) {
      await database.flush()
      await marks.tell()
      const rows = await database.all<OutboxRow>(
        `SELECT * FROM outbox
         WHERE ($account::text IS NULL OR account_id = $account OR ($operators::boolean AND account_id IS NULL))
           AND ($state::text IS NULL OR state = $state)
           AND ($event::text IS NULL OR event_id < $event OR (event_id = $event AND channel > $channel))
         ORDER BY event_id DESC, channel LIMIT $limit`,
        {
          account: accountId ?? null,
          operators: withOperators,
          state,
          event: before?.eventId ?? null,
          channel: before?.channel ?? null,
          limit,
        },
      )
      return rows.map(toNotice)
    },

    async find(eventId) {
      await database.flush()
      const rows = await database.all<OutboxRow>(
        'SELECT * FROM outbox WHERE event_id = ? ORDER BY channel',
        eventId,
      )
      const tries = await database.all<DeliveryTry & { readonly channel: string }>(
        'SELECT channel, at, status, failure, ms FROM delivery_tries WHERE event_id = ? ORDER BY number',
        eventId,
      )
      return rows.map((row) => ({
        ...toNotice(row),
        log: tries
          .filter(({ channel }) => channel === row.channel)
          .map(({ channel: _, ...attempt }) => attempt),
      }))
    },

    trim: (before, limit) =>
      database.run(
        `DELETE FROM outbox WHERE (event_id, channel) IN (
           SELECT event_id, channel FROM outbox o
           WHERE event_id < $below AND state <> 'pending' AND created_at < $before
             AND NOT EXISTS (SELECT 1 FROM delivery_tries t
               WHERE t.event_id = o.event_id AND t.channel = o.channel AND t.at >= $before)
           ORDER BY event_id LIMIT $limit)`,
        { before, below: eventsFrom(before), limit },
      ),
  }
}
