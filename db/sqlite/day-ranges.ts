/** Sums of days in pieces, in the order of days and of keys within them: requests pass between two pieces. */
import type { Database } from 'bun:sqlite'
import type { KeyId } from '#domain/id.ts'
import { statement } from './statement.ts'

/** Where a sum lies among the others; before the first of a day where it names no key. */
export type DayPosition = { readonly day: number; readonly key_id: KeyId | '' }

export const DAYS_BEGIN: DayPosition = { day: 0, key_id: '' }
const DAYS_END: DayPosition = { day: Number.MAX_SAFE_INTEGER, key_id: '' }

/** Sums behind a place, up to another. */
export type DayRange = DayPosition & {
  readonly until_day: number
  readonly until_key_id: KeyId | ''
}

/** Which those are; binds a stretch. */
export const IN_DAY_RANGE = `(day, key_id) > ($day, $key_id) AND (day, key_id) <= ($until_day, $until_key_id)`

/** Answers the stretch of so many rows behind a place, and where the next begins; null when this is the last. */
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
