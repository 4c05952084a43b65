/** Per-second counters of the last five minutes, for the rate curves. */
import type { ActivityEntry } from '../activity.ts'
import type { Instant } from '../clock.ts'
import { completionTokens } from '../usage.ts'

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
