/** The limits as columns of a table. */
import {
  ACCOUNT_LIMITS,
  type AccountLimitsRecord,
  type DeclaredLimit,
  LIMITS,
  type LimitsRecord,
  RARE_LIMITS,
} from '#domain/limits.ts'
import type { Column } from '../terminal/output.ts'

const column = ({ name, title, unit, isRare = false }: DeclaredLimit): Column<LimitsRecord> => ({
  title,
  ...(unit === 'masks' ? { dropOrder: 2 } : { right: true }),
  isSparse: isRare,
  full: ({ [name]: value }) =>
    unit === 'masks' ? (value?.toString() ?? 'all') : (value as string | number | null),
})

/** The rare ones come last, so that the others keep their places. */
export const LIMIT_COLUMNS: readonly Column<LimitsRecord>[] = LIMITS.toSorted(
  (a, b) => Number(a.isRare ?? false) - Number(b.isRare ?? false),
).map(column)

/** The limits that few keys have: columns that a table shows where a key has one. */
export const RARE_COLUMNS: readonly Column<LimitsRecord>[] = RARE_LIMITS.map(column)

/** An account shows only the limits that one of them has. */
export const ACCOUNT_COLUMNS: readonly Column<AccountLimitsRecord>[] = ACCOUNT_LIMITS.map(
  ({ name, title, unit }) => ({
    title,
    ...(unit === 'masks' ? { dropOrder: 3 } : { right: true }),
    isSparse: true,
    full: ({ [name]: value }) => (value === null ? null : String(value)),
  }),
)
