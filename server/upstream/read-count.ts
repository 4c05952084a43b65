/** Reads token counts that a provider sent, and rejects impossible ones. */

import { isLongInteger } from '#domain/exact-json.ts'

/** More than any answer has. */
export const MAX_TOKENS = 1_000_000_000

/** An integer from 0 to 1e9; undefined otherwise, because a faulty count must not become a charge. */
export const readCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MAX_TOKENS ? Math.round(value) : undefined

/** Whether a number was sent that cannot be a count; then the counts beside it are not reliable either. */
export const isImpossible = (value: unknown): boolean =>
  typeof value === 'number' ? readCount(value) === undefined : isLongInteger(value)
