/** Concatenates the log probabilities of several deltas. */
import type { JsonObject } from '#domain/chat.ts'

/** Arrays of the same name are concatenated; other values are replaced. */
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
