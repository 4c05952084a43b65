/** Readings that cost much, kept for as long as they cost little of the time: whoever looks at a screen again need not pay again. */
import type { Clock } from '#domain/clock.ts'
import { type CachedPart, createCachedPart } from './snapshot/cached-part.ts'

const MAX_READINGS = 500

/** By what they are read from. */
const kept = new WeakMap<object, Map<string, CachedPart<unknown>>>()

/** What `read` answers, or what it answered lately; `name` says of whom and what. */
export async function keptReading<Value>(
  { store, clock }: { readonly store: object; readonly clock: Clock },
  name: string,
  read: () => Promise<Value>,
): Promise<Value> {
  const parts = kept.get(store) ?? new Map<string, CachedPart<unknown>>()
  kept.set(store, parts)
  const part = parts.get(name) ?? createCachedPart(clock, 0, read)
  // The least lately asked for is first.
  parts.delete(name)
  parts.set(name, part)
  const [oldest] = parts.keys()
  if (parts.size > MAX_READINGS && oldest !== undefined) parts.delete(oldest)
  return (await part.read()).value as Value
}
