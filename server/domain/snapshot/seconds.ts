/** Seconds: what each of the last five minutes' seconds saw, for the curves of rates. */
import type { ActivityEntry } from '../activity.ts'
import type { Instant } from '../clock.ts'
import { completionTokens } from '../usage.ts'

export const CURVE_SECONDS = 300
/** A point of a curve stands for so many seconds. */
export const STEP_SECONDS = 5
const POINTS = CURVE_SECONDS / STEP_SECONDS

/** Oldest first, `STEP_SECONDS` apart, the last one ending now. */
export interface Curves {
  readonly requestsPerSecond: readonly number[]
  readonly tokensPerSecond: readonly number[]
  /** Mean of the requests that ended then; null where none had content. */
  readonly firstEventMs: readonly (number | null)[]
}

/** Tokens that came in a span of time. */
export interface Flow {
  readonly fromMs: number
  readonly toMs: number
  readonly tokens: number
}

const SECOND_MS = 1_000

export class Seconds {
  /** Which second a place is about; one that is older counts as empty. */
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
    // An answer's tokens came over its whole time and are counted at its end: each second, 300 at most, gets an equal part.
    const fromMs = at - entry.totalMs + entry.firstEventMs
    const { first, last, part } = spread({ fromMs, toMs: at, tokens }, at)
    for (let second = first; second <= last; second++) {
      const one = this.#place(second)
      this.#tokens[one] = (this.#tokens[one] ?? 0) + part
    }
  }

  /** Five minutes up to `now`; `running` are the tokens of requests that have not ended. */
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

  /** The place of a second; one that belonged to an older second is emptied first. */
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

/** The seconds that a flow touches, five minutes of them at most, and the equal part that each has of it. */
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
