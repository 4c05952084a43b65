/** A part of a snapshot: made when somebody looks, and again only when it is old enough for what making it costs. */
import type { Clock } from '#domain/clock.ts'

export interface Made<Value> {
  readonly value: Value
  /** Differs whenever the value was made anew. */
  readonly version: number
}

export interface Part<Value> {
  /** Waits for the first, and where nobody has looked for a while; later ones are made while the one before is still told. */
  read(): Promise<Made<Value>>
}

/** Making one may take so much of the time, and no more: however large a house is, looking at it is not what it does. */
const MOST_SHARE = 1 / 50

const LONGEST_STALE_MS = 5_000

/** Made at most every `leastMs`, one at a time. One that cannot be made anew is told as it was. */
export function startPart<Value>(
  clock: Clock,
  leastMs: number,
  make: () => Promise<Value>,
): Part<Value> {
  let last: Made<Value> | null = null
  let making: Promise<Made<Value>> | null = null
  let dueAt = 0

  const remake = async (): Promise<Made<Value>> => {
    const startedAt = clock.now()
    try {
      last = { value: await make(), version: (last?.version ?? 0) + 1 }
      return last
    } finally {
      making = null
      dueAt = startedAt + Math.max(leastMs, (clock.now() - startedAt) / MOST_SHARE)
    }
  }

  return {
    async read() {
      if (making === null && (last === null || clock.now() >= dueAt)) making = remake()
      if (making && (last === null || clock.now() >= dueAt + LONGEST_STALE_MS)) return await making
      if (last === null) return await remake()
      making?.catch(() => {})
      return last
    },
  }
}
