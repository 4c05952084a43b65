/** The activity log in SQLite. */
import { and, desc, eq, gte } from 'drizzle-orm'
import type { Activity } from '#domain/activity.ts'
import { toActivity } from './activity-row.ts'
import type { Connection } from './connection.ts'
import { activity } from './schema.ts'
import type { Writer } from './writer.ts'

export function createActivity({ drizzle, commit }: Connection, writer: Writer): Activity {
  return {
    note(entry) {
      // While the disk takes no writes, refusals are not worth the memory to remember them.
      if (commit.writable) commit.defer(() => writer.activity(entry, null))
    },
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
