/** A sliding window of request instants: a slot frees exactly one span after its request (contract §8). */
import { type Instant, LARGE_STEP_MS } from './clock.ts'

const FIRST_CAPACITY = 16

/** A request of a window that weighs: what it has used, or, as a negative weight, holds while it is in progress. */
export interface Weighed {
  readonly at: Instant
  readonly weight: number
}

/**
 * A ring buffer of instants. Adding, counting and expiring are O(1) amortised per request, whatever the limit; memory grows
 * with the requests inside the span, sixteen bytes each. A window that weighs also knows of each what it used (its tokens), eight
 * bytes more; one that is in progress has what it holds, as a negative weight, until it is settled.
 */
export class Window {
  readonly spanMs: number
  #weights: Float64Array | null
  /** Σ of the weights of those inside the span that have ended, as of the last `count`. */
  spent = 0
  /** The same of those in progress. */
  held = 0
  #ring = new Float64Array(FIRST_CAPACITY)
  /** By the clock, beside each instant of the ring; not a number for a request that was read from the log. */
  #takenAt = new Float64Array(FIRST_CAPACITY)
  #head = 0
  #size = 0
  /** The latest instant seen, on the time line of `#continuous`. */
  #newest = Number.NEGATIVE_INFINITY
  /** The total of large backward steps of the clock. */
  #setBackMs = 0

  constructor(spanMs: number, weighs = false) {
    this.spanMs = spanMs
    this.#weights = weighs ? new Float64Array(FIRST_CAPACITY) : null
  }

  /** Requests inside the span that ends at `now`. */
  count(now: Instant): number {
    const at = this.#continuous(now)
    while (this.#size > 0 && this.#oldest() + this.spanMs <= at) {
      if (this.#weights !== null) this.#weigh(this.#weights[this.#head] as number, -1)
      this.#head = (this.#head + 1) % this.#ring.length
      this.#size--
    }
    return this.#size
  }

  /** What the requests inside the span that ends at `now` take of a limit: a slot each, or what they used and hold. */
  used(now: Instant): number {
    const requests = this.count(now)
    return this.#weights === null ? requests : this.spent + this.held
  }

  /** Records a request. An instant before the newest one counts as the newest, so that a clock step frees no slot early. */
  take(at: Instant, holds = 0): void {
    this.#add(this.#continuous(at), at, -holds)
  }

  /** A request that was taken at that instant and held so much has ended; nothing where it has left the span. */
  settle(takenAt: Instant, held: number, weight: number): void {
    if (this.#weights === null) return
    // The newest ends soonest, as a rule. Two of one instant that hold the same are alike.
    for (let position = this.#size - 1; position >= 0; position--) {
      const place = this.#place(position)
      if (this.#takenAt[place] !== takenAt || this.#weights[place] !== -held) continue
      this.#weigh(-held, -1)
      this.#weights[place] = weight
      this.#weigh(weight, 1)
      return
    }
  }

  #weigh(weight: number, sign: 1 | -1): void {
    if (weight < 0) this.held -= sign * weight
    else this.spent += sign * weight
  }

  /** Records requests that were read from the log at `now`, the oldest first; one that lies ahead counts as made now. */
  restore(log: readonly Instant[], now: Instant): void {
    for (const at of log) this.#add(this.#continuous(Math.min(at, now) as Instant), Number.NaN, 0)
  }

  /** The same of a window that weighs, those in progress too. */
  restoreWeighed(log: readonly Weighed[], now: Instant): void {
    for (const { at, weight } of log) {
      const takenAt = weight < 0 ? at : Number.NaN
      this.#add(this.#continuous(Math.min(at, now) as Instant), takenAt, weight)
    }
  }

  /**
   * Takes over from the window before it, after the log was read at `now` because the clock was set: requests taken within the
   * span that the clock now places outside of what was read. They keep their age.
   */
  carry(before: Window, now: Instant): void {
    const found: (readonly [at: number, takenAt: number, weight: number])[] = []
    for (let i = 0; i < before.#size; i++) {
      const takenAt = before.#takenAt[before.#place(i)] as number
      const ageMs = before.#newest - before.#at(i)
      const weight = before.#weights?.[before.#place(i)] ?? 0
      if (Math.abs(takenAt - now) >= this.spanMs && ageMs < this.spanMs) {
        found.push([now - ageMs, takenAt, weight])
      }
    }
    if (found.length === 0) return
    for (let i = 0; i < this.#size; i++) {
      const place = this.#place(i)
      found.push([this.#at(i), this.#takenAt[place] as number, this.#weights?.[place] ?? 0])
    }
    this.#head = 0
    this.#size = 0
    this.spent = 0
    this.held = 0
    for (const [at, takenAt, weight] of found.sort(([a], [b]) => a - b)) {
      this.#add(at, takenAt, weight)
    }
    this.#continuous(now)
  }

  #add(at: number, takenAt: number, weight: number): void {
    if (this.#size === this.#ring.length) this.#grow()
    const newest = this.#size > 0 ? this.#at(this.#size - 1) : at
    const place = this.#place(this.#size)
    this.#ring[place] = Math.max(at, newest)
    this.#takenAt[place] = takenAt
    if (this.#weights !== null) {
      this.#weights[place] = weight
      this.#weigh(weight, 1)
    }
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

  /** Whether so much more fits: as of a ceiling, a request that is alone in it may cross the limit, and others have to fit. */
  fits(limit: number, weight: number, now: Instant): boolean {
    this.count(now)
    const { spent, held } = this
    return spent < limit && (held === 0 || spent + held + weight <= limit)
  }

  /** Milliseconds until what has been used is below the limit, whatever those in progress hold; 0 when it is now. */
  msUntilBelow(limit: number, now: Instant): number {
    this.count(now)
    let { spent } = this
    let gone = 0
    for (; spent >= limit && gone < this.#size; gone++) {
      spent -= Math.max(0, this.#weights?.[this.#place(gone)] ?? 0)
    }
    return gone === 0 ? 0 : this.#at(gone - 1) + this.spanMs - this.#continuous(now)
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
    const weights = this.#weights && new Float64Array(larger.length)
    for (let i = 0; i < this.#size; i++) {
      larger[i] = this.#at(i)
      takenAt[i] = this.#takenAt[this.#place(i)] as number
      if (weights !== null) weights[i] = this.#weights?.[this.#place(i)] as number
    }
    this.#weights = weights
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

/** Of all windows, as lists show them. */
export interface WindowReadings extends QuotaReading {
  /** Those that requests in progress hold are not left. */
  readonly tokens: WindowReading | null
}

export const NO_QUOTA: WindowReadings = { minute: null, day: null, tokens: null }

/** One that comes behind a later one is told of no longer wait than the span. */
export const toReset = (waitMs: number, spanMs: number): number =>
  Math.ceil(Math.min(waitMs, spanMs) / 1000)

export function readWindow(
  window: Window | null,
  limit: number | null,
  now: Instant,
): WindowReading | null {
  if (window === null || limit === null) return null
  return {
    limit,
    remaining: Math.max(0, limit - window.used(now)),
    resetSeconds: toReset(window.msUntilOldestLeaves(now), window.spanMs),
  }
}
