/** A sliding window of request instants: a slot frees exactly one span after its request (contract §8). */
import { type Instant, LARGE_STEP_MS } from './clock.ts'

const FIRST_CAPACITY = 16

/**
 * A ring buffer of instants. Adding, counting and expiring are O(1) amortised per request, whatever the limit; memory grows
 * with the requests inside the span, sixteen bytes each.
 */
export class Window {
  readonly spanMs: number
  #ring = new Float64Array(FIRST_CAPACITY)
  /** By the clock, beside each instant of the ring; not a number for a request that was read from the log. */
  #takenAt = new Float64Array(FIRST_CAPACITY)
  #head = 0
  #size = 0
  /** The latest instant seen, on the time line of `#continuous`. */
  #newest = Number.NEGATIVE_INFINITY
  /** The total of large backward steps of the clock. */
  #setBackMs = 0

  constructor(spanMs: number) {
    this.spanMs = spanMs
  }

  /** Requests inside the span that ends at `now`. */
  count(now: Instant): number {
    const at = this.#continuous(now)
    while (this.#size > 0 && this.#oldest() + this.spanMs <= at) {
      this.#head = (this.#head + 1) % this.#ring.length
      this.#size--
    }
    return this.#size
  }

  /** Records a request. An instant before the newest one counts as the newest, so that a clock step frees no slot early. */
  take(at: Instant): void {
    this.#add(this.#continuous(at), at)
  }

  /** Records requests that were read from the log at `now`, the oldest first; one that lies ahead counts as made now. */
  restore(log: readonly Instant[], now: Instant): void {
    for (const at of log) this.#add(this.#continuous(Math.min(at, now) as Instant), Number.NaN)
  }

  /**
   * Takes over from the window before it, after the log was read at `now` because the clock was set: requests taken within the
   * span that the clock now places outside of what was read. They keep their age.
   */
  carry(before: Window, now: Instant): void {
    const found: (readonly [at: number, takenAt: number])[] = []
    for (let i = 0; i < before.#size; i++) {
      const takenAt = before.#takenAt[before.#place(i)] as number
      const ageMs = before.#newest - before.#at(i)
      if (Math.abs(takenAt - now) >= this.spanMs && ageMs < this.spanMs) {
        found.push([now - ageMs, takenAt])
      }
    }
    if (found.length === 0) return
    for (let i = 0; i < this.#size; i++) {
      found.push([this.#at(i), this.#takenAt[this.#place(i)] as number])
    }
    this.#head = 0
    this.#size = 0
    for (const [at, takenAt] of found.sort(([a], [b]) => a - b)) this.#add(at, takenAt)
    this.#continuous(now)
  }

  #add(at: number, takenAt: number): void {
    if (this.#size === this.#ring.length) this.#grow()
    const newest = this.#size > 0 ? this.#at(this.#size - 1) : at
    const place = this.#place(this.#size)
    this.#ring[place] = Math.max(at, newest)
    this.#takenAt[place] = takenAt
    this.#size++
  }

  /** Milliseconds until the oldest request leaves the span; 0 when the window is empty. */
  msUntilOldestLeaves(now: Instant): number {
    return this.count(now) === 0 ? 0 : this.#oldest() + this.spanMs - this.#continuous(now)
  }

  /** Milliseconds until fewer than `limit` requests are inside the span; 0 when a slot is free now. */
  msUntilSlot(limit: number, now: Instant): number {
    const surplus = this.count(now) - limit
    return surplus < 0 ? 0 : this.#at(surplus) + this.spanMs - this.#continuous(now)
  }

  /**
   * Maps the clock to a time line that continues across large backward steps. Otherwise, after a clock that ran a day ahead was
   * corrected, slots would stay taken for that day. A smaller step only delays the freeing of slots, so that a jump forth and
   * back frees none early. A clock that reaches the time line again was behind and is corrected: it goes on by the clock, or the
   * correction would pass for time.
   */
  #continuous(now: Instant): number {
    if (this.#setBackMs > 0 && now >= this.#newest) this.#setBackMs = 0
    const at = now + this.#setBackMs
    if (at > this.#newest) this.#newest = at
    else if (at < this.#newest - LARGE_STEP_MS) {
      this.#setBackMs = this.#newest - now
      return this.#newest
    }
    return at
  }

  #at(position: number): number {
    return this.#ring[this.#place(position)] as number
  }

  #place(position: number): number {
    return (this.#head + position) % this.#ring.length
  }

  #oldest(): number {
    return this.#at(0)
  }

  #grow(): void {
    const larger = new Float64Array(this.#ring.length * 2)
    const takenAt = new Float64Array(larger.length)
    for (let i = 0; i < this.#size; i++) {
      larger[i] = this.#at(i)
      takenAt[i] = this.#takenAt[this.#place(i)] as number
    }
    this.#ring = larger
    this.#takenAt = takenAt
    this.#head = 0
  }
}

export interface WindowReading {
  readonly limit: number
  readonly remaining: number
  /** Whole seconds, rounded up, until the oldest request leaves the window; 0 when it is empty. */
  readonly resetSeconds: number
}

/** A window with no limit set has no reading. */
export interface QuotaReading {
  readonly minute: WindowReading | null
  readonly day: WindowReading | null
}

export const NO_QUOTA: QuotaReading = { minute: null, day: null }

export function readWindow(
  window: Window | null,
  limit: number | null,
  now: Instant,
): WindowReading | null {
  if (window === null || limit === null) return null
  return {
    limit,
    remaining: Math.max(0, limit - window.count(now)),
    resetSeconds: Math.ceil(window.msUntilOldestLeaves(now) / 1000),
  }
}
