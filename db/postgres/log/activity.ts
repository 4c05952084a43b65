/** The log in PostgreSQL: refusals are noted in batches, everything else is written by `settle`; and its reading. */
import { and, type Column, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import { draftAct } from '#domain/act.ts'
import type { Activity, ActivityEntry, ActivityQuery } from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import { type GenerationId, generationsFrom } from '#domain/id.ts'
import { noteAct } from '../../log/acts.ts'
import { addUpDrift, addUpTrend } from '../../log/log-sums.ts'
import { activityFilter } from '../../rows/activity-filter.ts'
import { ACTIVITY_COLUMNS, activityValues, toActivity } from '../../rows/activity-row.ts'
import { arrivedIn, BEHIND_ALL, type Slice } from '../../rows/slice.ts'
import { activity } from '../../rows/tables.ts'
import { LINE_ARRAYS, toColumns } from '../admission/settle.ts'
import { batched } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { send } from '../engine/engine.ts'
import { dropDays } from './days.ts'
import { readServed } from './served.ts'
import { readUsage } from './usage.ts'

const NOTE = `INSERT INTO activity (${ACTIVITY_COLUMNS.join(', ')})
  SELECT * FROM unnest(?::text[], ${LINE_ARRAYS.join(', ')}) ON CONFLICT DO NOTHING`

/** What is not a day of its own: lines of a time for which none was made, or from before there were days. */
const PARTS = `SELECT inhrelid::regclass::text AS name FROM pg_inherits
  WHERE inhparent = 'activity'::regclass AND inhrelid::regclass::text !~ '\\d$' ORDER BY 1 DESC`

const WHOLE: Slice = { from: '', below: BEHIND_ALL }

const endsIn = (column: Column, end: string): SQL =>
  sql`right(${column}, ${end.length}::int) = ${end}`

function matchesOf(query: Omit<ActivityQuery, 'limit'>): SQL | undefined {
  const { from, below } = arrivedIn(query)
  return and(
    activityFilter(activity, query, endsIn),
    from === undefined ? undefined : gte(activity.generationId, from as never),
    below === undefined ? undefined : lt(activity.generationId, below as never),
  )
}

/** Newest first; `bound` is one more condition. */
const prepareList =
  (database: Database) =>
  async (query: ActivityQuery, bound?: SQL): Promise<readonly ActivityEntry[]> => {
    const rows = await database.query((drizzle) =>
      drizzle
        .select()
        .from(activity)
        .where(and(matchesOf(query), bound))
        .orderBy(desc(activity.generationId))
        .limit(query.limit),
    )
    return rows.map(toActivity)
  }

/** Lines that may wait in memory while the database is away, for as long as a request does. */
export const MOST_WAITING = 10_000

/** Notes refusals. What is beyond the bound, or fails, is not logged: `tell` says in an act how many. */
function prepareNote(database: Database): Pick<Activity, 'note'> & Pick<ActivityLog, 'tell'> {
  const noteAll = batched(async (entries: readonly ActivityEntry[]) => {
    await database.run(NOTE, ...toColumns(entries.map((entry) => activityValues(entry, null))))
    return entries
  })
  let waiting = 0
  let dropped = 0
  const tell = async (): Promise<void> => {
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    const { owner, clock } = database
    const facts = { target: owner.node, changed: { lines } }
    const act = draftAct(clock.now(), 'gateway', 'activity.drop', facts)
    // A beat does not wait for others that change something.
    database
      .change((tx) => send(tx, noteAct(act)))
      .catch(() => {
        dropped += lines
      })
  }
  const note = (entry: ActivityEntry): void => {
    if (waiting === MOST_WAITING) {
      dropped++
      return
    }
    waiting++
    database.track(noteAll(entry)).then(
      () => {
        waiting--
      },
      () => {
        waiting--
        dropped++
      },
    )
  }
  return { note, tell }
}

/** `tell` is done with each beat: so that it is at most one act a second, and comes once the database is back. */
export interface ActivityLog {
  readonly activity: Activity
  tell(): Promise<void>
}

export function openActivity(database: Database): ActivityLog {
  const { note, tell } = prepareNote(database)
  return { activity: createActivity(database, note), tell }
}

function createActivity(database: Database, note: Activity['note']): Activity {
  const list = prepareList(database)
  return {
    note,
    async list(query) {
      await database.flush()
      return await list(query)
    },
    async search({ lines, ...query }) {
      await database.flush()
      const { from, below } = { ...WHOLE, ...arrivedIn(query) }
      const last = await database.get<{ id: GenerationId }>(
        `SELECT generation_id AS id FROM activity WHERE generation_id >= $from AND generation_id < $below
         ORDER BY generation_id DESC LIMIT 1 OFFSET $beside`,
        { from, below, beside: lines - 1 },
      )
      if (last === null) return { entries: await list(query), searchedTo: null }
      const entries = await list(query, gte(activity.generationId, last.id))
      return { entries, searchedTo: entries.length < query.limit ? last.id : null }
    },
    async count(query) {
      await database.flush()
      return await database.query((drizzle) => drizzle.$count(activity, matchesOf(query)))
    },
    async find(id) {
      await database.flush()
      const [row] = await database.query((drizzle) =>
        drizzle.select().from(activity).where(eq(activity.generationId, id)),
      )
      return row && toActivity(row)
    },
    async drift({ accountId = null, ...query }) {
      await database.flush()
      return await send(database, addUpDrift({ ...WHOLE, ...arrivedIn(query) }, accountId))
    },
    usage: (query) => readUsage(database, query),
    served: (query) => readServed(database, query),
    async trend({ since, accountId = null }) {
      await database.flush()
      return await send(database, addUpTrend({ ...WHOLE, ...arrivedIn({ since }) }, accountId))
    },

    async trim(before, limit) {
      const dropped = await dropDays(database, before)
      const deleted = await database.transact(async (tx) => {
        const parts = await tx.all<{ name: string }>(PARTS)
        let gone = 0
        // A request that arrived after `before` cannot have ended before it.
        for (const { name } of parts) {
          gone += await tx.run(
            `DELETE FROM ${name} WHERE generation_id IN (
               SELECT generation_id FROM ${name} WHERE generation_id < $below AND started_at + total_ms < $before
               ORDER BY generation_id LIMIT $limit)`,
            { before, below: generationsFrom(before), limit: limit - gone },
          )
        }
        if (gone > 0) {
          await tx.run(
            `INSERT INTO kept_since (log, since) VALUES ('activity', ?)
             ON CONFLICT (log) DO UPDATE SET since = greatest(kept_since.since, excluded.since)`,
            before,
          )
        }
        return gone
      })
      return dropped + deleted
    },
    async keptSince() {
      const row = await database.get<{ since: Instant }>(
        "SELECT since FROM kept_since WHERE log = 'activity'",
      )
      return row?.since ?? null
    },
  }
}
