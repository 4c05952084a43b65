/** Puts the log probabilities of several deltas end to end. */
import type { JsonObject } from '#domain/chat.ts'

/** Lists of one name are joined; anything else is replaced by the newer. */
export function mergeLogprobs(known: JsonObject | null, more: unknown): JsonObject | null {
  if (typeof more !== 'object' || more === null) return known
  if (known === null) return more as JsonObject
  const merged: Record<string, unknown> = { ...known }
  for (const [name, value] of Object.entries(more)) {
    const before = merged[name]
    merged[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value
  }
  return merged
}
