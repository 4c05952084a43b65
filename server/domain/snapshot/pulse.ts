/** Pulse: the gateway's in-memory record of recent requests. Recording one costs a few stores; figures are computed on demand. */
import type { ActivityEntry } from '../activity.ts'
import type { Instant } from '../clock.ts'
import type { KeyId } from '../id.ts'
import type { FailureKind } from '../upstream.ts'
import { completionTokens, promptTokens } from '../usage.ts'

/** The size of the dashboard's log screen. */
export const MAX_RECENT = 500
/** Errors are kept separately, so that many successful requests do not displace them. */
export const MAX_RECENT_ERRORS = 100
const MAX_FAILURES = 4_096

/** A failed attempt, whether or not another hop answered. */
export interface HopFailure {
  readonly at: Instant
  readonly provider: string
  readonly outcome: FailureKind
  /** The provider's own status, where one came. */
  readonly status: number | null
}

export class Pulse {
  readonly endings = new Endings()
  readonly seconds = new Seconds()
  readonly failures = new Latest<HopFailure>(MAX_FAILURES)
  /** Log entries since the start of the process. */
  readonly recent = new Latest<ActivityEntry>(MAX_RECENT)
  readonly errors = new Latest<ActivityEntry>(MAX_RECENT_ERRORS)

  /** Records a request that ended or was refused. */
  readonly note = (entry: ActivityEntry, at: Instant): void => {
    this.endings.note(entry, at)
    this.seconds.note(entry, at)
    this.recent.put(entry)
    if (entry.code !== null) this.errors.put(entry)
    for (const { provider, outcome, status } of entry.failedAttempts) {
      this.failures.put({ at, provider, outcome, status })
    }
  }
}

/**
 * At 50 requests a second this covers five minutes; at fewer, up to the hour that views show. Computing figures over all of
 * them blocks the event loop for some milliseconds, which limits the number.
 */
export const MAX_ENDINGS = 16_384
const FIRST_CAPACITY = 1_024

/** A request that ended, as input for figures. */
export interface Ended {
  readonly endedAt: number
  readonly totalMs: number
  /** Negative when no content came. */
  readonly firstEventMs: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  readonly status: number
  /** Nano-dollars as a float, only for shares and rates; sums of money come from the ledger. */
  readonly costNanos: number
  readonly keyId: KeyId
  readonly model: string
  /** Null if it was refused, so that no provider was tried. */
  readonly provider: string | null
  readonly endUser: string | null
}

interface Columns {
  readonly numbers: Float64Array
  readonly keys: KeyId[]
  readonly models: string[]
  readonly providers: (string | null)[]
  readonly users: (string | null)[]
}

const FIGURES = 8

const columns = (capacity: number): Columns => ({
  numbers: new Float64Array(capacity * FIGURES),
  keys: [],
  models: [],
  providers: [],
  users: [],
})

/** A ring buffer of the newest `MAX_ENDINGS`; it grows to that size as needed. */
export class Endings {
  #columns = columns(FIRST_CAPACITY)
  #capacity = FIRST_CAPACITY
  /** How many were added so far. */
  #noted = 0
  #begun: number | null = null

  note(entry: ActivityEntry, at: Instant): void {
    if (this.#noted === this.#capacity && this.#capacity < MAX_ENDINGS) this.#grow()
    const place = this.#noted % this.#capacity
    const { numbers, keys, models, providers, users } = this.#columns
    const { usage } = entry
    const first = place * FIGURES
    numbers[first] = at
    numbers[first + 1] = entry.totalMs
    numbers[first + 2] = entry.firstEventMs ?? -1
    numbers[first + 3] = promptTokens(usage)
    numbers[first + 4] = usage.cacheReadTokens
    numbers[first + 5] = completionTokens(usage)
    numbers[first + 6] = entry.status
    numbers[first + 7] = Number(entry.cost)
    keys[place] = entry.keyId
    models[place] = entry.model
    providers[place] = entry.provider
    users[place] = entry.endUser
    this.#noted++
  }

  /** Those that ended after `since`, newest first. */
  *after(since: Instant): Generator<Ended, void> {
    const oldest = Math.max(0, this.#noted - this.#capacity)
    for (let number = this.#noted - 1; number >= oldest; number--) {
      const ended = this.#at(number % this.#capacity)
      if (ended.endedAt <= since) return
      yield ended
    }
  }

  /** What ended before was not all noted. */
  beginAt(instant: number): void {
    this.#begun = instant
  }

  /** The instant since which the ring is complete; null while none was dropped. */
  get reachesBackTo(): number | null {
    if (this.#noted <= this.#capacity) return this.#begun
    const oldest = this.#columns.numbers[(this.#noted % this.#capacity) * FIGURES] ?? 0
    return Math.max(oldest, this.#begun ?? 0)
  }

  #at(place: number): Ended {
    const { numbers, keys, models, providers, users } = this.#columns
    const first = place * FIGURES
    const figure = (index: number): number => numbers[first + index] ?? 0
    return {
      endedAt: figure(0),
      totalMs: figure(1),
      firstEventMs: figure(2),
      promptTokens: figure(3),
      cachedTokens: figure(4),
      outputTokens: figure(5),
      status: figure(6),
      costNanos: figure(7),
      keyId: keys[place] as KeyId,
      model: models[place] ?? '',
      provider: providers[place] ?? null,
      endUser: users[place] ?? null,
    }
  }

  /** Only called when the ring is full and has not wrapped yet, so indices stay valid. */
  #grow(): void {
    const larger = columns(this.#capacity * 2)
    larger.numbers.set(this.#columns.numbers)
    this.#columns = { ...this.#columns, numbers: larger.numbers }
    this.#capacity *= 2
  }
}

export const CURVE_SECONDS = 300
/** The seconds that one point of a curve covers. */
export const STEP_SECONDS = 5
const POINTS = CURVE_SECONDS / STEP_SECONDS

/** Oldest first, `STEP_SECONDS` apart, the last one ending now. */
export interface Curves {
  readonly requestsPerSecond: readonly number[]
  readonly tokensPerSecond: readonly number[]
  /** The mean over the requests that ended in that step; null if none had content. */
  readonly firstEventMs: readonly (number | null)[]
}

/** Tokens that arrived in a time span. */
export interface Flow {
  readonly fromMs: number
  readonly toMs: number
  readonly tokens: number
}

const SECOND_MS = 1_000

export class Seconds {
  /** The second that each slot belongs to; a slot of an older second counts as empty. */
  readonly #stamp = new Float64Array(CURVE_SECONDS)
  readonly #requests = new Float64Array(CURVE_SECONDS)
  readonly #tokens = new Float64Array(CURVE_SECONDS)
  readonly #firstMs = new Float64Array(CURVE_SECONDS)
  readonly #firsts = new Float64Array(CURVE_SECONDS)

  note(entry: ActivityEntry, at: Instant): void {
    const place = this.#place(Math.floor(at / SECOND_MS))
    this.#requests[place] = (this.#requests[place] ?? 0) + 1
    if (entry.firstEventMs === null) return
    this.#firstMs[place] = (this.#firstMs[place] ?? 0) + entry.firstEventMs
    this.#firsts[place] = (this.#firsts[place] ?? 0) + 1
    const tokens = completionTokens(entry.usage)
    if (tokens === 0) return
    // Tokens arrive over the whole answer but are counted at its end, so they are spread evenly over its seconds (300 at most).
    const fromMs = at - entry.totalMs + entry.firstEventMs
    const { first, last, part } = spread({ fromMs, toMs: at, tokens }, at)
    for (let second = first; second <= last; second++) {
      const one = this.#place(second)
      this.#tokens[one] = (this.#tokens[one] ?? 0) + part
    }
  }

  /** The five minutes up to `now`; `running` has the tokens of requests in progress. */
  curves(now: Instant, running: readonly Flow[]): Curves {
    const last = Math.floor(now / SECOND_MS)
    const tokens = Array.from({ length: CURVE_SECONDS }, (_, i) =>
      this.#read(this.#tokens, last - CURVE_SECONDS + 1 + i),
    )
    for (const flow of running) {
      const touched = spread(flow, now)
      for (let second = touched.first; second <= touched.last; second++) {
        const index = second - (last - CURVE_SECONDS + 1)
        if (index >= 0 && index < CURVE_SECONDS) tokens[index] = (tokens[index] ?? 0) + touched.part
      }
    }
    const points = Array.from({ length: POINTS }, (_, i) => i * STEP_SECONDS)
    const sumAt = (column: Float64Array, point: number): number =>
      sum(STEP_SECONDS, (i) => this.#read(column, last - CURVE_SECONDS + 1 + point + i))
    return {
      requestsPerSecond: points.map((point) => sumAt(this.#requests, point) / STEP_SECONDS),
      tokensPerSecond: points.map(
        (point) => sum(STEP_SECONDS, (i) => tokens[point + i] ?? 0) / STEP_SECONDS,
      ),
      firstEventMs: points.map((point) => {
        const count = sumAt(this.#firsts, point)
        return count === 0 ? null : sumAt(this.#firstMs, point) / count
      }),
    }
  }

  #read(column: Float64Array, second: number): number {
    const place = second % CURVE_SECONDS
    return this.#stamp[place] === second ? (column[place] ?? 0) : 0
  }

  /** The slot of a second, cleared if it belonged to an older second. */
  #place(second: number): number {
    const place = second % CURVE_SECONDS
    const stamp = this.#stamp[place] ?? 0
    if (stamp >= second) return place
    this.#stamp[place] = second
    for (const column of [this.#requests, this.#tokens, this.#firstMs, this.#firsts]) {
      column[place] = 0
    }
    return place
  }
}

/** The seconds that a flow covers, five minutes at most, and the equal share of each. */
function spread(
  { fromMs, toMs, tokens }: Flow,
  now: number,
): { readonly first: number; readonly last: number; readonly part: number } {
  const last = Math.floor(Math.min(toMs, now) / SECOND_MS)
  const first = Math.min(last, Math.floor(fromMs / SECOND_MS))
  const part = tokens / (last - first + 1)
  return { first: Math.max(first, last - CURVE_SECONDS + 1), last, part }
}

const sum = (count: number, of: (index: number) => number): number => {
  let total = 0
  for (let index = 0; index < count; index++) total += of(index)
  return total
}

/** A ring buffer of the newest items. */
export class Latest<T> {
  readonly #most: number
  readonly #kept: T[] = []
  #put = 0

  constructor(most: number) {
    this.#most = most
  }

  put(one: T): void {
    this.#kept[this.#put % this.#most] = one
    this.#put++
  }

  /** How many were added so far, dropped ones included. */
  get count(): number {
    return this.#put
  }

  /** Newest first, without the first `seen` that were ever added. */
  *since(seen = 0): Generator<T, void> {
    const oldest = Math.max(seen, this.#put - this.#most)
    for (let number = this.#put - 1; number >= oldest; number--) {
      yield this.#kept[number % this.#most] as T
    }
  }
}
