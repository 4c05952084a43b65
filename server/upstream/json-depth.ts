/** Limits how deeply a provider's JSON is nested: serialising it again is recursive and could overflow the stack (hardening §4.5). */

const MAX_DEPTH = 64
/** A text this short cannot be nested deeply enough to overflow the stack. */
const HARMLESS_CHARS = 16_384

/** Whether a value parsed from `chars` characters (or bytes) is nested at most 64 levels deep. */
export const isShallow = (value: unknown, chars: number): boolean =>
  chars <= HARMLESS_CHARS || isWithin(value, MAX_DEPTH)

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  return Object.values(value).every((inner) => isWithin(inner, levels - 1))
}
