/** Reads the activity log. */
import { and, count, desc, eq, gte, lt, lte, ne, sql } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Activity, ActivityEntry, ActivityQuery } from '#domain/activity.ts'
import type { Drift } from '#domain/drift.ts'
import type { AccountId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { arrivedIn, slices, slicesBack } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'
import { activity } from '../schema.ts'
import { toActivity } from './activity-row.ts'
import { readUsage } from './usage-reader.ts'

export function createActivityReader(
  connection: Connection,
): Pick<Activity, 'list' | 'count' | 'find' | 'drift' | 'usage'> {
  const { database, commit } = connection
  const drizzle = openDrizzle({ client: database })

  return {
    async list(query) {
      commit.flush()
      const inSlice = drizzle
        .select()
        .from(activity)
        .where(
          and(
            gte(activity.generationId, sql.placeholder('from')),
            lt(activity.generationId, sql.placeholder('below')),
            matches(query),
          ),
        )
        .orderBy(desc(activity.generationId))
        .limit(sql.placeholder('limit'))
        .prepare()
      const found: ActivityEntry[] = []
      for await (const slice of slicesBack(database, 'activity', arrivedIn(query))) {
        const rows = inSlice.all({ ...slice, limit: query.limit - found.length })
        found.push(...rows.map(toActivity))
        if (found.length >= query.limit) break
      }
      return found
    },
    async count(query) {
      commit.flush()
      const inSlice = drizzle
        .select({ n: count() })
        .from(activity)
        .where(
          and(
            gte(activity.generationId, sql.placeholder('from')),
            lt(activity.generationId, sql.placeholder('below')),
            matches(query),
          ),
        )
        .prepare()
      let found = 0
      for await (const slice of slicesBack(database, 'activity', arrivedIn(query))) {
        found += inSlice.get({ ...slice })?.n ?? 0
      }
      return found
    },
    async find(id) {
      commit.flush()
      const row = drizzle.select().from(activity).where(eq(activity.generationId, id)).get()
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
    usage: (query) => readUsage(connection, query),
  }
}

const matches = (query: Omit<ActivityQuery, 'limit'>) =>
  and(
    query.accountId && eq(activity.accountId, query.accountId),
    query.keyId && eq(activity.keyId, query.keyId),
    query.requestId === undefined ? undefined : eq(activity.requestId, query.requestId),
    query.idEnd === undefined ? undefined : endsIn(activity.generationId, query.idEnd),
    query.model === undefined ? undefined : eq(activity.model, query.model),
    query.provider === undefined ? undefined : eq(activity.provider, query.provider),
    query.status && gte(activity.status, query.status.least),
    query.status && lte(activity.status, query.status.most),
    query.leastTotalMs === undefined ? undefined : gte(activity.totalMs, query.leastTotalMs),
    query.errorsOnly ? ne(activity.endedBy, 'completed') : undefined,
  )

/** Compared as text, not as a pattern. */
const endsIn = (column: typeof activity.generationId, end: string) =>
  sql`substr(${column}, ${-end.length}) = ${end}`

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
