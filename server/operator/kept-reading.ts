/** Readings that cost much, kept for as long as they cost little of the time, or until somebody changes something. */
import type { Clock } from '#domain/clock.ts'
import { type CachedPart, createCachedPart } from './snapshot/cached-part.ts'

const MAX_READINGS = 500
/** What takes less is read each time. */
const CHEAP_MS = 20

interface Kept {
  readonly part: CachedPart<unknown>
  tookMs: number
}

/** By what they are read from. */
const kept = new WeakMap<object, Map<string, Kept>>()

/** What `read` answers, or what it answered lately; `name` says of whom and what, `leastMs` how long it is kept whatever it costs. */
export async function keptReading<Value>(
  { store, clock }: { readonly store: object; readonly clock: Clock },
  name: string,
  read: () => Promise<Value>,
  leastMs = 0,
): Promise<Value> {
  const readings = kept.get(store) ?? new Map<string, Kept>()
  kept.set(store, readings)
  const known = readings.get(name)
  if (known !== undefined && (leastMs > 0 || known.tookMs >= CHEAP_MS)) {
    // The least lately asked for is first.
    readings.delete(name)
    readings.set(name, known)
    return (await known.part.read()).value as Value
  }
  const begunMs = clock.monotonicMs()
  const part = createCachedPart(clock, leastMs, read)
  const { value } = await part.read()
  readings.set(name, { part, tookMs: clock.monotonicMs() - begunMs })
  const [oldest] = readings.keys()
  if (readings.size > MAX_READINGS && oldest !== undefined) readings.delete(oldest)
  return value
}

/** After a change: whoever made it sees it. */
export const forgetReadings = (store: object): void => void kept.delete(store)
