/** Reads the activity log. */
import { type Column, type SQL, sql } from 'drizzle-orm'
import type { Activity, ActivityQuery } from '#domain/activity.ts'
import type { Drift } from '#domain/drift.ts'
import { type GenerationId, isGenerationId } from '#domain/id.ts'
import { addUsd, NO_MONEY } from '#domain/money.ts'
import { addUpDrift } from '../../log/log-sums.ts'
import { activityFilter } from '../../rows/activity-filter.ts'
import { toActivity } from '../../rows/activity-row.ts'
import { arrivedIn } from '../../rows/slice.ts'
import { activity } from '../../rows/tables.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareRunNow } from '../engine/engine.ts'
import { slices } from '../engine/slices.ts'
import { openSoundLog } from '../engine/sound-log.ts'
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
  const runNow = prepareRunNow(database)

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
      for await (const slice of slices(database, 'activity', arrivedIn(query))) {
        for (const sum of runNow(addUpDrift(slice, query.accountId ?? null))) add(byModel, sum)
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

function add(byModel: Map<string, Drift>, { model, requests, charged, stated }: Drift): void {
  const before = byModel.get(model) ?? { model, requests: 0, charged: NO_MONEY, stated: NO_MONEY }
  byModel.set(model, {
    model,
    requests: before.requests + requests,
    charged: addUsd(before.charged, charged),
    stated: addUsd(before.stated, stated),
  })
}
