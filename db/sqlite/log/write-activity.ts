/** Writes lines of the activity log, with one prepared statement. */
import type { SQLQueryBindings } from 'bun:sqlite'
import type { ActivityEntry } from '#domain/activity.ts'
import type { Instant } from '#domain/clock.ts'
import { ACTIVITY_COLUMNS, activityValues } from '../../rows/activity-row.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'

/** Returns false for a second entry of the same generation, which is not written. */
export function prepareActivity({
  database,
  timesOver,
}: Pick<Connection, 'database' | 'timesOver'>): (
  entry: ActivityEntry,
  admittedAt: Instant | null,
) => boolean {
  const insert = statement<unknown, SQLQueryBindings[]>(
    database,
    `INSERT INTO activity (${ACTIVITY_COLUMNS.join(', ')}) VALUES (${ACTIVITY_COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (generation_id) DO NOTHING`,
  )
  return (entry, admittedAt) => {
    const isLate = admittedAt !== null && admittedAt < timesOver.below
    if (isLate) timesOver.below = Number.NEGATIVE_INFINITY
    return insert().run(...activityValues(entry, admittedAt)).changes > 0
  }
}
