/** Which models a key may call: exact ids and masks, compared as text, never as patterns (contract §8). */

/** Exact ids, `<provider>/*`, or `*`; null allows every model. */
export type AllowList = readonly string[] | null

export const MASK = /^(\*|[^\s/*]+\/(\*|[^\s*]+))$/
export const MAX_MASKS = 256
export const MAX_MASK_CHARS = 256

/** Whether `text` is an exact model id, `<provider>/*` or `*`. */
export const isMask = (text: string): boolean => text.length <= MAX_MASK_CHARS && MASK.test(text)

const matches = (mask: string, model: string): boolean =>
  mask === model || mask === '*' || (mask.endsWith('/*') && model.startsWith(mask.slice(0, -1)))

/** Case-sensitive; must be checked for every candidate of a route. */
export const allows = (list: AllowList, model: string): boolean =>
  list === null || list.some((mask) => matches(mask, model))

/** The masks of a list that match none of the known models: accepted, but worth a warning. */
export const idleMasks = (list: AllowList, models: readonly string[]): readonly string[] =>
  (list ?? []).filter((mask) => !models.some((model) => matches(mask, model)))
