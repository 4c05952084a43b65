/** The limits that few keys have: columns that a table shows where a key has one. */
import type { LimitsRecord } from '#domain/key-report.ts'
import type { Column } from '../terminal/output.ts'

const column = (title: string, full: Column<LimitsRecord>['full']): Column<LimitsRecord> => ({
  title,
  right: true,
  isSparse: true,
  full,
})

export const RARE_LIMITS: readonly Column<LimitsRecord>[] = [
  column('user rpm', ({ end_user_rpm }) => end_user_rpm),
  column('user day $', ({ end_user_daily_usd }) => end_user_daily_usd),
  column('max out', ({ max_output_tokens }) => max_output_tokens),
]
