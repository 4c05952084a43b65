/** Events in PostgreSQL: what was raised, what still lasts, what is held back, and what was seen. */
import { DAY_MS, type Instant, LARGE_STEP_MS, later } from '#domain/clock.ts'
import type { Events, StoredEvent } from '#domain/event.ts'
import { eventsFrom } from '#domain/id.ts'
import { channelsOf } from '#domain/low-balance.ts'
import {
  type EventRow,
  LASTING,
  MOST_IN_DIGEST,
  releasedTogether,
  toEvent,
} from '../../rows/event-row.ts'
import type { Database, Sql } from '../engine/database.ts'
import { noteAct } from '../log/acts.ts'
import { readSettings } from './notice-settings.ts'
import type { Marks } from './passed-marks.ts'
import { raise, send } from './raise.ts'

const OPEN = 'cause = ? AND subject = ? AND lifted_at IS NULL'

export function createEvents(database: Database, marks: Marks): Events {
  const settle = async (): Promise<void> => {
    await database.flush()
    await marks.tell()
  }
  return {
    raise: (event, act) =>
      database.change(async (tx) => {
        if (act !== null) await noteAct(tx, act)
        return await raise(tx, event)
      }),

    async lift(cause, subject, at, then) {
      const isOpen = await database.get(`SELECT 1 FROM events WHERE ${OPEN}`, cause, subject)
      if (isOpen === null) return false
      return await database.change(async (tx) => {
        const lifted = await tx.run(
          `UPDATE events SET lifted_at = ? WHERE ${OPEN}`,
          at,
          cause,
          subject,
        )
        if (lifted === 0) return false
        if (then !== null) await raise(tx, then)
        return true
      })
    },

    async release(at) {
      await settle()
      if ((await findHeld(database, at)).length === 0) return 0
      return await database.change(async (tx) => {
        const events = await findHeld(tx, at)
        const digest = releasedTogether(events, at)
        if (digest === null) return 0
        const isSent = await send(tx, channelsOf(await readSettings(tx)), digest)
        for (const { id } of events) {
          await tx.run(
            'UPDATE events SET held_until = NULL, sent_as = ? WHERE id = ?',
            isSent ? digest.id : null,
            id,
          )
        }
        return events.length
      })
    },

    see: (upTo, act) =>
      database.change(async (tx) => {
        const seen = await tx.run(
          'UPDATE events SET seen_at = ? WHERE id <= ? AND seen_at IS NULL',
          act.at,
          upTo,
        )
        if (seen > 0) await noteAct(tx, act, { notices: seen })
        return seen
      }),

    trim: (before, limit) =>
      database.run(
        'DELETE FROM events WHERE id IN (SELECT id FROM events WHERE id < ? ORDER BY id LIMIT ?)',
        eventsFrom(before),
        limit,
      ),

    ...readEvents(database, settle),
  }
}

function readEvents(
  database: Database,
  settle: () => Promise<void>,
): Pick<Events, 'list' | 'find' | 'unseen'> {
  return {
    async list({ accountId, unseenOnly = false, openOnly = false, before = null, limit }) {
      await settle()
      const rows = await database.all<EventRow>(
        `SELECT * FROM events
         WHERE (NOT $unseenOnly::boolean OR seen_at IS NULL)
           AND (NOT $openOnly::boolean OR (lifted_at IS NULL AND cause = ANY ($lasting::text[])))
           AND ($before::text IS NULL OR id < $before)
           ${accountId === undefined ? '' : "AND body::jsonb #>> '{data,account_id}' = $account"}
         ORDER BY id DESC LIMIT $limit`,
        {
          unseenOnly,
          openOnly,
          lasting: LASTING,
          before,
          limit,
          account: accountId ?? null,
        },
      )
      return rows.map(toEvent)
    },
    async find(id) {
      await settle()
      const row = await database.get<EventRow>('SELECT * FROM events WHERE id = ?', id)
      return row === null ? undefined : toEvent(row)
    },
    async unseen() {
      await settle()
      const row = await database.get<{ n: number }>(
        'SELECT count(*) AS n FROM events WHERE seen_at IS NULL',
      )
      return row?.n ?? 0
    },
  }
}

/** What has waited long enough; and what is held for longer than a day, since when the clock was set back. */
async function findHeld(sql: Sql, at: Instant): Promise<readonly StoredEvent[]> {
  const rows = await sql.all<EventRow>(
    `SELECT * FROM events WHERE held_until IS NOT NULL AND (held_until <= ? OR held_until > ?) ORDER BY id LIMIT ?`,
    at,
    later(at, 2 * DAY_MS + LARGE_STEP_MS),
    MOST_IN_DIGEST,
  )
  return rows.map(toEvent)
}
