/** The outbox in PostgreSQL: couriers of several nodes share it, each notice claimed by one. */
import { type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import type { Notices } from '#domain/notice.ts'
import { createOutbox, type OutboxRow, toNotice } from '../../outbox/outbox.ts'
import type { Engine } from '../../statements.ts'
import type { Database } from '../engine/database.ts'
import { STORE_NOW } from '../engine/store-time.ts'

/** Another node that has leased the notice `o`, and its clock: that of the database, and how far it is ahead of it. */
const HOLDER = `SELECT ${STORE_NOW} + n.ahead_ms
  FROM nodes n WHERE n.epoch = o.leased_by AND o.lease_until IS NOT NULL AND n.epoch <> $epoch`

/** `settled` resolves when what has happened by now is in the outbox. */
export function createNotices(
  database: Database,
  engine: Engine,
  settled: () => Promise<void>,
): Notices {
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
    ...createOutbox(engine, settled),

    async claim(at, leaseUntil, limit) {
      await settled()
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
  }
}
