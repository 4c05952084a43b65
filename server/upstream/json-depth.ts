/** Bounds how deeply the JSON of a provider is nested: to render it again takes a stack that is not endless (hardening §4.5). */

const MOST_DEPTH = 64
/** No text this short is nested deeply enough to hurt. */
const HARMLESS_CHARS = 16_384

/** Whether a value parsed from so many characters, or bytes, is nested 64 levels deep at most. */
export const isShallow = (value: unknown, chars: number): boolean =>
  chars <= HARMLESS_CHARS || isWithin(value, MOST_DEPTH)

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  return Object.values(value).every((inner) => isWithin(inner, levels - 1))
}
