/** Reads the activity log. */
import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Activity, ActivityQuery } from '#domain/activity.ts'
import type { Drift } from '#domain/drift.ts'
import { type AccountId, type GenerationId, isGenerationId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { activityFilter } from '../../rows/activity-filter.ts'
import { toActivity } from '../../rows/activity-row.ts'
import { arrivedIn } from '../../rows/slice.ts'
import { activity } from '../../rows/tables.ts'
import type { Connection } from '../engine/connection.ts'
import { slices } from '../engine/slices.ts'
import { openSoundLog } from '../engine/sound-log.ts'
import { statement } from '../engine/statement.ts'
import { readServed } from './served-reader.ts'
import { readTrend } from './trend-reader.ts'
import { openUsageDays } from './usage-days.ts'
import { readUsage } from './usage-reader.ts'

export function createActivityReader(
  connection: Connection,
): Pick<Activity, 'list' | 'search' | 'count' | 'find' | 'drift' | 'usage' | 'served' | 'trend'> {
  const { database, commit } = connection
  const log = openSoundLog(database, LOG)
  const days = openUsageDays(connection)

  return {
    async list(query) {
      commit.flush()
      return (await log.newest(matches(query), arrivedIn(query), query.limit)).map(toActivity)
    },
    async search(query) {
      commit.flush()
      const { limit, lines } = query
      const found = await log.search(matches(query), arrivedIn(query), limit, lines)
      return {
        entries: found.rows.map(toActivity),
        searchedTo: found.searchedTo as GenerationId | null,
      }
    },
    async count(query) {
      commit.flush()
      return await log.count(matches(query), arrivedIn(query))
    },
    async find(id) {
      commit.flush()
      const row = log.find(id)
      return row && toActivity(row)
    },
    async drift(query) {
      commit.flush()
      const byModel = new Map<string, Drift>()
      const sums = prepareSums(connection)
      const account = query.accountId ?? null
      for await (const { from, below } of slices(database, 'activity', arrivedIn(query))) {
        for (const row of sums().all(from, below, account)) add(byModel, row)
      }
      return [...byModel.values()].toSorted((a, b) => (a.model < b.model ? -1 : 1))
    },
    usage: (query) => readUsage(connection, days, query),
    served: (query) => readServed(connection, query),
    trend: (query) => readTrend(connection, query),
  }
}

/** Whatever a list is filtered by stands between its id and where its usage comes from, which is null for what was refused. */
const LOG = {
  table: activity,
  id: activity.generationId,
  isId: isGenerationId,
  isUnsound: sql<number>`(${activity.endedBy} NOT IN ('completed', 'client', 'upstream', 'gateway', 'refused')
    OR ifnull(${activity.usageSource}, 'provider') NOT IN ('provider', 'estimated')
    OR NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = ${activity.accountId}))`,
}

const matches = (query: Omit<ActivityQuery, 'limit'>) => activityFilter(activity, query, endsIn)

/** Compared as text, not as a pattern. */
const endsIn = (column: Column, end: string): SQL => sql`substr(${column}, ${-end.length}) = ${end}`

interface SumRow {
  readonly model: string
  readonly requests: number
  readonly charged: string
  readonly stated: string
}

/** As text, because a sum may exceed 2^53. */
const prepareSums = ({ database }: Connection) =>
  statement<SumRow, [string, string, AccountId | null]>(
    database,
    `SELECT model, count(*) AS requests, CAST(sum(cost_nanos) AS TEXT) AS charged,
       CAST(sum(stated_cost_nanos) AS TEXT) AS stated
     FROM activity
     WHERE generation_id >= ?1 AND generation_id < ?2 AND (?3 IS NULL OR account_id = ?3)
       AND stated_cost_nanos IS NOT NULL AND usage_source IS NOT NULL
     GROUP BY model`,
  )

function add(byModel: Map<string, Drift>, { model, requests, charged, stated }: SumRow): void {
  const before = byModel.get(model) ?? { model, requests: 0, charged: NO_MONEY, stated: NO_MONEY }
  byModel.set(model, {
    model,
    requests: before.requests + requests,
    charged: addUsd(before.charged, BigInt(charged) as UsdNanos),
    stated: addUsd(before.stated, BigInt(stated) as UsdNanos),
  })
}
