/** The days of the log: each is a table of its own, made ahead, and dropped as a whole when nobody may want it any more. */
import { dayOf, HOUR_MS, type Instant } from '#domain/clock.ts'
import type { Database, Sql } from '../engine/database.ts'
import { isBusy } from '../engine/errors.ts'
import { STORE_NOW } from '../engine/store-time.ts'

const DAYS_AHEAD = 3
const TODAY = `${STORE_NOW} / 86400000`

/** Of the time that all nodes go by. */
export const makeDaysAhead = (sql: Sql): Promise<number> =>
  sql.run(`SELECT make_days(${TODAY}, ${TODAY} + ${DAYS_AHEAD})`)

/** More would be more tables than a transaction may lock. */
const MOST_DAYS = 100

/** For lines that arrived in this time; what is older goes to the others. */
export const makeDaysOf = (sql: Sql, first: Instant, last: Instant): Promise<number> =>
  sql.run(
    'SELECT make_days(greatest($first::bigint, $last::bigint - $most::bigint), $last::bigint)',
    { first: dayOf(first), last: dayOf(last), most: MOST_DAYS },
  )

/** Done with each beat: it makes them once an hour, and at the next beat where somebody is in the way. */
export function prepareDays({ lanes: { life } }: Database): () => Promise<void> {
  let dueMs = 0
  return async () => {
    if (performance.now() < dueMs) return
    await makeDaysAhead(life)
    dueMs = performance.now() + HOUR_MS
  }
}

/** Whoever writes to the log waits as long behind the drop as that waits for those who read it: a fifth of a second. */
const REST_MS = 1_000
const MOST_TRIES = 20

interface Dropped {
  /** Null where no day was. */
  readonly lines: number | null
}

const DROP = 'SELECT drop_day(?) AS lines'
const NO_PATIENCE = 0

/** Drops the days of which all lines had ended before; answers how many lines. Where somebody reads for long the next sweep does it. */
export async function dropDays(database: Database, before: Instant): Promise<number> {
  let lines = 0
  for (let tries = 1; ; ) {
    try {
      // Done again not at once, but when those who have waited behind it have had their turn.
      const row = await database.transact((tx) => tx.get<Dropped>(DROP, before), NO_PATIENCE)
      if (row === null || row.lines === null) return lines
      lines += row.lines
    } catch (error) {
      if (!isBusy(error)) throw error
      if (tries++ === MOST_TRIES) return lines
      await Bun.sleep(REST_MS)
    }
  }
}
