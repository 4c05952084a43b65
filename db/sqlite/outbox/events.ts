/** Events in SQLite: what was raised, what still lasts, what is held back, and what was seen. */
import type { CauseName } from '#domain/cause.ts'
import { DAY_MS, type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import type { Events, StoredEvent } from '#domain/event.ts'
import { type AccountId, type EventId, eventsFrom } from '#domain/id.ts'
import {
  type EventRow,
  LASTING,
  MOST_IN_DIGEST,
  releasedTogether,
  toEvent,
} from '../../rows/event-row.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { prepareNoteAct } from '../log/acts.ts'
import type { HeldNoticeSettings } from './notice-settings.ts'
import { prepareRaise, prepareSend } from './raise.ts'

export function createEvents(connection: Connection, settings: HeldNoticeSettings): Events {
  const { database, commit } = connection
  const raise = prepareRaise(database, settings)
  const release = prepareRelease(connection, settings)
  const noteAct = prepareNoteAct(database)
  const lift = statement<unknown, [Instant, CauseName, string]>(
    database,
    'UPDATE events SET lifted_at = ? WHERE cause = ? AND subject = ? AND lifted_at IS NULL',
  )
  const isOpen = statement<{ id: EventId }, [CauseName, string]>(
    database,
    'SELECT id FROM events WHERE cause = ? AND subject = ? AND lifted_at IS NULL',
  )
  const see = statement<unknown, [Instant, EventId]>(
    database,
    'UPDATE events SET seen_at = ? WHERE id <= ? AND seen_at IS NULL',
  )
  const drop = statement<unknown, [EventId, number]>(
    database,
    'DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id < ? ORDER BY id LIMIT ?)',
  )

  return {
    raise: (event, act) =>
      commit.commitDurably(() => {
        if (act !== null) noteAct(act)
        return raise(event)
      }),

    async lift(cause, subject, at, then) {
      commit.flush()
      if (isOpen().get(cause, subject) === null) return false
      return await commit.commitDurably(() => {
        if (lift().run(at, cause, subject).changes === 0) return false
        if (then !== null) raise(then)
        return true
      })
    },

    release,

    see: (upTo, act) =>
      commit.commitDurably(() => {
        const { changes } = see().run(act.at, upTo)
        if (changes > 0) noteAct(act, { notices: changes })
        return changes
      }),

    async trim(before, limit) {
      let gone = 0
      const done = commit.tryWrite(() => {
        gone = drop().run(eventsFrom(before), limit).changes
      })
      return done ? gone : 0
    },

    ...openReading(connection),
  }
}

function prepareRelease(
  { database, commit }: Connection,
  settings: HeldNoticeSettings,
): Events['release'] {
  const send = prepareSend(database, settings)
  // Held for longer than a day: since then the clock was set back.
  const due = statement<EventRow, [Instant, Instant, number]>(
    database,
    `SELECT * FROM events WHERE held_until IS NOT NULL AND (held_until <= ?1 OR held_until > ?2) ORDER BY id LIMIT ?3`,
  )
  const sent = statement<unknown, [EventId | null, EventId]>(
    database,
    'UPDATE events SET held_until = NULL, sent_as = ? WHERE id = ?',
  )
  const find = (at: Instant): readonly StoredEvent[] =>
    due()
      .all(at, later(at, 2 * DAY_MS + LARGE_STEP_MS), MOST_IN_DIGEST)
      .map(toEvent)

  return async (at) => {
    commit.flush()
    if (find(at).length === 0) return 0
    return await commit.commitDurably(() => {
      const events = find(at)
      const digest = releasedTogether(events, at)
      if (digest === null) return 0
      const isSent = send(digest)
      for (const { id } of events) sent().run(isSent ? digest.id : null, id)
      return events.length
    })
  }
}

type ListQuery = {
  readonly account?: AccountId
  readonly unseen: number
  readonly open: number
  readonly lasting: string
  readonly before: EventId | null
  readonly limit: number
}

function openReading({ database, commit }: Connection): Pick<Events, 'list' | 'find' | 'unseen'> {
  const select = (which: string) =>
    statement<EventRow, [ListQuery]>(
      database,
      `SELECT * FROM events
       WHERE ${which} ($unseen = 0 OR seen_at IS NULL)
         AND ($open = 0 OR (lifted_at IS NULL AND cause IN (SELECT value FROM json_each($lasting)))) AND ($before IS NULL OR id < $before)
       ORDER BY id DESC LIMIT $limit`,
    )
  const list = select('')
  // By an index of its own (`events_of_account`).
  const ofAccount = select("json_extract(body, '$.data.account_id') = $account AND")
  const find = statement<EventRow, [EventId]>(database, 'SELECT * FROM events WHERE id = ?')
  const unseen = statement<{ n: number }, []>(
    database,
    'SELECT count(*) AS n FROM events WHERE seen_at IS NULL',
  )
  return {
    async list({ accountId, unseenOnly = false, openOnly = false, before = null, limit }) {
      commit.flushAwaited()
      const [unseen, open] = [Number(unseenOnly), Number(openOnly)]
      const query = { unseen, open, lasting: JSON.stringify(LASTING), before, limit }
      const rows =
        accountId === undefined
          ? list().all(query)
          : ofAccount().all({ ...query, account: accountId })
      return rows.map(toEvent)
    },
    async find(id) {
      commit.flushAwaited()
      const row = find().get(id)
      return row === null ? undefined : toEvent(row)
    },
    async unseen() {
      commit.flushAwaited()
      return unseen().get()?.n ?? 0
    },
  }
}
