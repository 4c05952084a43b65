/** Reads the activity log. */
import { and, desc, eq, gte } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { Activity } from '#domain/activity.ts'
import { toActivity } from './activity-row.ts'
import type { Connection } from './connection.ts'
import { activity } from './schema.ts'

export function createActivityReader({
  database,
  commit,
}: Connection): Pick<Activity, 'list' | 'find'> {
  const drizzle = openDrizzle({ client: database })

  return {
    async list({ accountId, keyId, since, limit }) {
      commit.flush()
      const inScope = and(
        accountId && eq(activity.accountId, accountId),
        keyId && eq(activity.keyId, keyId),
        since && gte(activity.startedAt, since),
      )
      const rows = drizzle
        .select()
        .from(activity)
        .where(inScope)
        .orderBy(desc(activity.generationId))
        .limit(limit)
        .all()
      return rows.map(toActivity)
    },
    async find(id) {
      commit.flush()
      const row = drizzle.select().from(activity).where(eq(activity.generationId, id)).get()
      return row && toActivity(row)
    },
  }
}
