/** A provider's count of tokens, as far as it can be one. */

/** No answer has more tokens than this. */
export const MOST_TOKENS = 1_000_000_000

/** Whole, 0 to 1e9; undefined when there is no number, or one that no answer has: a fault must not become a charge. */
export const readCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MOST_TOKENS ? Math.round(value) : undefined

/** Whether a count was stated that cannot be one; then nothing that is counted beside it can be relied on either. */
export const isImpossible = (value: unknown): boolean =>
  typeof value === 'number' && readCount(value) === undefined
