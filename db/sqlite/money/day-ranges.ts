/** Ranges of the tables of day sums, ordered by day and key, so that requests are served between two ranges. */
import type { Database } from 'bun:sqlite'
import type { KeyId } from '#domain/id.ts'
import { statement } from '../engine/statement.ts'

/** A position in that order; with an empty key, before the first row of the day. */
export type DayPosition = { readonly day: number; readonly key_id: KeyId | '' }

export const DAYS_BEGIN: DayPosition = { day: 0, key_id: '' }
const DAYS_END: DayPosition = { day: Number.MAX_SAFE_INTEGER, key_id: '' }

/** Rows after one position, up to another. */
export type DayRange = DayPosition & {
  readonly until_day: number
  readonly until_key_id: KeyId | ''
}

/** The condition for rows in a range; binds a `DayRange`. */
export const IN_DAY_RANGE = `(day, key_id) > ($day, $key_id) AND (day, key_id) <= ($until_day, $until_key_id)`

/** Returns the range of the next `rows` rows, and the start of the following range; null after the last. */
export function prepareDayRanges(database: Database, table: string, rows: number) {
  const nth = statement<DayPosition, [DayPosition]>(
    database,
    `SELECT day, key_id FROM ${table} WHERE (day, key_id) > ($day, $key_id)
     ORDER BY day, key_id LIMIT 1 OFFSET ${rows - 1}`,
  )
  return (place: DayPosition): { readonly range: DayRange; readonly next: DayPosition | null } => {
    const next = nth().get(place)
    const { day, key_id } = next ?? DAYS_END
    return { range: { ...place, until_day: day, until_key_id: key_id }, next }
  }
}
