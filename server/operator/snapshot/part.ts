/** A part of a snapshot: made when somebody looks, and again only when it is old enough for what making it costs. */
import type { Clock } from '#domain/clock.ts'

export interface Made<Value> {
  readonly value: Value
  /** Differs whenever the value was made anew. */
  readonly version: number
}

export interface Part<Value> {
  /** Waits for a quick reading; a slow one answers its last value while it is made anew. */
  read(): Promise<Made<Value>>
}

/** Making one may take so much of the time, and no more: however large a gateway is, looking at it is not what it does. */
const MOST_SHARE = 1 / 50
/** Longer than this nobody waits, where there is anything to tell meanwhile. */
const QUICK_MS = 100
/** Unless nobody has asked for a while. */
const LONGEST_STALE_MS = 5_000

/** Made at most every `leastMs`, one at a time; where that fails, the last value is answered. */
export function startPart<Value>(
  clock: Clock,
  leastMs: number,
  make: () => Promise<Value>,
): Part<Value> {
  let last: Made<Value> | null = null
  let making: Promise<Made<Value>> | null = null
  let dueAt = 0
  let tookMs = 0

  const remake = async (): Promise<Made<Value>> => {
    const startedAt = clock.now()
    try {
      last = { value: await make(), version: (last?.version ?? 0) + 1 }
      return last
    } finally {
      making = null
      tookMs = clock.now() - startedAt
      dueAt = startedAt + Math.max(leastMs, tookMs / MOST_SHARE)
    }
  }

  return {
    async read() {
      const now = clock.now()
      if (making === null && (last === null || now >= dueAt)) making = remake()
      if (making === null) return last ?? (await remake())
      if (last === null) return await making
      const isStale = now >= dueAt + LONGEST_STALE_MS
      const known = last
      const made = making.catch(() => known)
      return tookMs <= QUICK_MS || isStale ? await made : known
    },
  }
}
