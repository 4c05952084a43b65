/** The outbox in SQLite: its one courier leases what is due. */
import { type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import type { Notices } from '#domain/notice.ts'
import { createOutbox, type OutboxRow, toNotice } from '../../outbox/outbox.ts'
import { all, type Engine, run } from '../../statements.ts'

export function createNotices(engine: Engine): Notices {
  /** When notices were last claimed; null before the first time, because the clock may have been set back while nothing ran. */
  let claimedAt: Instant | null = null

  /** Makes due what a clock that was set back has posted, tried or leased in what is now the future. */
  const noteClock = async (at: Instant): Promise<void> => {
    const isSetBack = claimedAt === null || at < later(claimedAt, -LARGE_STEP_MS)
    const done = isSetBack
      ? await engine.attempt(() =>
          run(
            `UPDATE outbox AS o SET next_try_at = $at, lease_until = NULL
             WHERE state = 'pending' AND (lease_until > $future OR $future <
               CASE tries WHEN 0 THEN next_try_at ELSE (
                 SELECT t.at FROM delivery_tries t WHERE t.event_id = o.event_id AND t.channel = o.channel
                 ORDER BY t.number DESC LIMIT 1) END)`,
            { at, future: later(at, LARGE_STEP_MS) },
          ),
        )
      : 0
    if (done !== null) claimedAt = at
  }

  return {
    ...createOutbox(engine, engine.settled),

    async claim(at, leaseUntil, limit) {
      await noteClock(at)
      const dueOf = () =>
        all<OutboxRow>(
          `SELECT * FROM outbox
           WHERE state = 'pending' AND next_try_at <= $at AND (lease_until IS NULL OR lease_until <= $at)
           ORDER BY next_try_at, event_id LIMIT $limit`,
          { at, limit },
        )
      // A courier asks every moment, and mostly nothing is due.
      if ((await engine.read(dueOf)).length === 0) return []
      // While the disk takes no writes nothing could be noted of a try, so none is made.
      const leased = await engine.attempt(function* () {
        const due = yield* dueOf()
        for (const { event_id: eventId, channel } of due) {
          yield* run(
            'UPDATE outbox SET lease_until = $leaseUntil WHERE event_id = $eventId AND channel = $channel',
            { eventId, channel, leaseUntil },
          )
        }
        return due
      })
      return (leased ?? []).map(toNotice)
    },
  }
}
