/**
 * The column of limits: JSON of those that are set, by their names in the code, so that a further limit needs no column. Money
 * is in nano-dollars, of which every amount is an exact number.
 */
import { LIMITS, type Limits, NO_LIMITS } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import { fromInteger, toInteger } from './amount.ts'

export function toLimits(column: string): Limits {
  const kept = JSON.parse(column)
  if (Object.keys(kept).length === 0) return NO_LIMITS
  const read = LIMITS.map(({ limit, unit }) => {
    const value = kept[limit] ?? null
    return [limit, unit === 'usd' && value !== null ? fromInteger<UsdNanos>(value) : value]
  })
  return Object.fromEntries(read)
}

export function fromLimits(limits: Limits): string {
  const set = LIMITS.flatMap(({ limit, unit }) => {
    const value = limits[limit]
    if (value === null) return []
    return [[limit, unit === 'usd' ? toInteger(value as UsdNanos) : value]]
  })
  return JSON.stringify(Object.fromEntries(set))
}
