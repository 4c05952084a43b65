/** The outbox in SQLite: what is on its way, who has it, and what became of it. */
import { type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Notice, Notices } from '#domain/notice.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareNoteAct } from '../log/acts.ts'
import { openOutboxTable } from './outbox-table.ts'

export function createNotices({ database, commit }: Connection): Notices {
  const outbox = openOutboxTable(database)
  const noteAct = prepareNoteAct(database)
  /** When notices were last claimed; null before the first time, because the clock may have been set back while nothing ran. */
  let claimedAt: Instant | null = null

  const noteClock = (at: Instant): void => {
    const isSetBack = claimedAt === null || at < later(claimedAt, -LARGE_STEP_MS)
    if (!isSetBack || commit.tryWrite(() => outbox.bringForward(at))) claimedAt = at
  }

  return {
    post: (notices, act) =>
      commit.commitDurably(() => {
        noteAct(act)
        for (const notice of notices) outbox.write(notice)
      }),

    async claim(at, leaseUntil, limit) {
      noteClock(at)
      let taken: readonly Notice[] = outbox.due(at, limit)
      if (taken.length === 0) return taken
      // While the disk takes no writes nothing could be noted of a try, so none is made.
      const done = commit.tryWrite(() => {
        for (const notice of taken) outbox.lease(notice, leaseUntil)
      })
      if (!done) taken = []
      return taken
    },

    tried: (eventId, channel, attempt, { state, nextTryAt }) =>
      commit.commitDurably(() => {
        if (!outbox.note(eventId, channel, attempt)) {
          throw new GatewayError('notice_not_found', `there is no notice ${eventId} by ${channel}`)
        }
        outbox.move(eventId, channel, state, nextTryAt)
      }),

    async list(query) {
      commit.flush()
      return outbox.list(query)
    },

    async find(eventId) {
      commit.flush()
      return outbox
        .find(eventId)
        .map((notice) => ({ ...notice, log: outbox.log(eventId, notice.channel) }))
    },

    async trim(before, limit) {
      let gone = 0
      const done = commit.tryWrite(() => {
        gone = outbox.dropEnded(before, limit)
      })
      return done ? gone : 0
    },
  }
}
