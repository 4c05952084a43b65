/** Limits in one line for people. */
import { LIMITS, type LimitsRecord, sayLimit } from '#domain/limits.ts'
import { clean } from '../terminal/clean.ts'

/** "300 req/min · no daily request limit · $25.00/day · all models" */
export const describeLimits = (limits: Partial<LimitsRecord>): string =>
  LIMITS.flatMap((one) => sayLimit(one, limits) ?? [])
    .map(clean)
    .join(' · ')
