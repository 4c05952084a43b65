/** A part of a snapshot: made when somebody looks, and again only when it is old enough for what making it costs. */
import type { Clock } from '#domain/clock.ts'

export interface Versioned<Value> {
  readonly value: Value
  /** Differs whenever the value was made anew. */
  readonly version: number
}

export interface CachedPart<Value> {
  /** Waits for a quick reading; a slow one answers its last value while it is made anew. */
  read(): Promise<Versioned<Value>>
}

/** Making one may take so much of the time, and no more: however large a gateway is, looking at it is not what it does. */
const MOST_SHARE = 1 / 50
/** Longer than this nobody waits, where there is anything to tell meanwhile. */
const QUICK_MS = 100
/** Unless nobody has asked for a while. */
const LONGEST_STALE_MS = 5_000

/** Made at most every `leastMs`, one at a time; where that fails, the last value is answered. */
export function createCachedPart<Value>(
  clock: Clock,
  leastMs: number,
  compute: () => Promise<Value>,
): CachedPart<Value> {
  let last: Versioned<Value> | null = null
  let refreshing: Promise<Versioned<Value>> | null = null
  let dueAt = 0
  let tookMs = 0

  const refresh = async (): Promise<Versioned<Value>> => {
    const startedAt = clock.now()
    try {
      last = { value: await compute(), version: (last?.version ?? 0) + 1 }
      return last
    } finally {
      refreshing = null
      tookMs = clock.now() - startedAt
      dueAt = startedAt + Math.max(leastMs, tookMs / MOST_SHARE)
    }
  }

  return {
    async read() {
      const now = clock.now()
      if (refreshing === null && (last === null || now >= dueAt)) refreshing = refresh()
      if (refreshing === null) return last ?? (await refresh())
      if (last === null) return await refreshing
      const isStale = now >= dueAt + LONGEST_STALE_MS
      const known = last
      const made = refreshing.catch(() => known)
      return tookMs <= QUICK_MS || isStale ? await made : known
    },
  }
}
