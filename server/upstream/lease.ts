/** A credential that expires, as a token does: fetched once for all who wait for it, and again before its end, while the old one serves. */

export interface Lease<Value> {
  readonly value: Value
  /** Null for one that does not expire. */
  readonly lifetimeMs: number | null
}

export interface LeaseKeeper<Value> {
  /** The value, at once where one is held. @throws what fetching throws, where none can be used */
  get(): Promise<Value>
  /** It was refused: the next who asks gets another, unless this one was fetched a moment ago. */
  forget(): void
}

interface Held<Value> {
  readonly value: Value
  readonly fetchedMs: number
  /** From then on another is fetched, and from `endsMs` on this one is not used. */
  readonly renewMs: number
  readonly endsMs: number
}

/** Clocks differ, and a request takes a while to arrive. */
const MARGIN_MS = 30_000
/** How long before its end another is fetched, but no earlier than in the middle of its life. */
const AHEAD_MS = 5 * 60_000
/** Between two attempts to renew one that still serves, and before one that is refused is fetched anew. */
const PAUSE_MS = 30_000

/** `nowMs` is monotonic: an hour is an hour, whatever is done to the clock. */
export function keepLease<Value>(
  fetch: () => Promise<Lease<Value>>,
  nowMs: () => number,
): LeaseKeeper<Value> {
  let held: Held<Value> | null = null
  let coming: Promise<Held<Value>> | null = null
  let triedMs = Number.NEGATIVE_INFINITY

  const renew = (): Promise<Held<Value>> => {
    if (coming !== null) return coming
    triedMs = nowMs()
    coming = fetch()
      .then((lease) => {
        held = hold(lease, nowMs())
        return held
      })
      .finally(() => {
        coming = null
      })
    return coming
  }

  return {
    async get() {
      const at = nowMs()
      if (held === null || at >= held.endsMs) return (await renew()).value
      if (at >= held.renewMs && at >= triedMs + PAUSE_MS) {
        // Where it fails, the one that is held serves to its end.
        renew().catch(() => undefined)
      }
      return held.value
    },
    forget() {
      if (held !== null && nowMs() >= held.fetchedMs + PAUSE_MS) held = null
    },
  }
}

function hold<Value>({ value, lifetimeMs }: Lease<Value>, atMs: number): Held<Value> {
  if (lifetimeMs === null) {
    const never = Number.POSITIVE_INFINITY
    return { value, fetchedMs: atMs, renewMs: never, endsMs: never }
  }
  const aheadMs = Math.min(AHEAD_MS, lifetimeMs / 2)
  return {
    value,
    fetchedMs: atMs,
    renewMs: atMs + lifetimeMs - aheadMs,
    endsMs: atMs + Math.max(0, lifetimeMs - Math.min(MARGIN_MS, aheadMs)),
  }
}
