/** A cached part of a snapshot: computed on demand, and less often the longer it takes. */
import type { Clock } from '#domain/clock.ts'

export interface Versioned<Value> {
  readonly value: Value
  /** Increases with each computation. */
  readonly version: number
}

export interface CachedPart<Value> {
  /** Waits for a fast computation; during a slow one it returns the last value. */
  read(): Promise<Versioned<Value>>
}

/** The largest share of time spent on computing a part, so that watching does not slow down a large gateway. */
const MAX_SHARE = 1 / 50
/** Slower computations return the last value meanwhile. */
const QUICK_MS = 100
/** An older value is not returned. */
const MAX_STALE_MS = 5_000

/** Computed at most every `leastMs`, one at a time; if it fails, the last value is returned. */
export function createCachedPart<Value>(
  clock: Clock,
  leastMs: number,
  compute: () => Promise<Value>,
  maxShare = MAX_SHARE,
): CachedPart<Value> {
  let last: Versioned<Value> | null = null
  let refreshing: Promise<Versioned<Value>> | null = null
  let dueMs = 0
  let tookMs = 0

  const refresh = async (): Promise<Versioned<Value>> => {
    const startedMs = clock.monotonicMs()
    try {
      last = { value: await compute(), version: (last?.version ?? 0) + 1 }
      return last
    } finally {
      refreshing = null
      tookMs = clock.monotonicMs() - startedMs
      dueMs = startedMs + Math.max(leastMs, tookMs / maxShare)
    }
  }

  return {
    async read() {
      const nowMs = clock.monotonicMs()
      if (refreshing === null && (last === null || nowMs >= dueMs)) refreshing = refresh()
      if (refreshing === null) return last ?? (await refresh())
      if (last === null) return await refreshing
      const isStale = nowMs >= dueMs + MAX_STALE_MS
      const known = last
      const made = refreshing.catch(() => known)
      return tookMs <= QUICK_MS || isStale ? await made : known
    },
  }
}
