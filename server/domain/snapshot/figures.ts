/** Figures: rates, percentiles and shares of the requests that ended in a time span, in total or per key, model or provider. */
import { CLIENT_CLOSED_REQUEST } from '../activity.ts'
import { type Instant, MINUTE_MS } from '../clock.ts'
import type { Ended, Endings, HopFailure } from './pulse.ts'

export const FIGURES_MS = 300_000

/** A percentile is null where there are no values. */
export interface Figures {
  /** All that ended, refused ones included. */
  readonly requests: number
  /** In the last minute; extrapolated to a minute if the span is shorter. */
  readonly lastMinute: number
  readonly ok: number
  /** Failed requests by status, most frequent first. */
  readonly failed: readonly { readonly status: number; readonly count: number }[]
  /** Total duration of admitted requests. */
  readonly totalMs: Percentiles
  /** Time to the first content, of requests that had content. */
  readonly firstEventMs: Percentiles
  readonly outputTokens: number
  /** Cached share of the prompt tokens, in percent; null if there were none. */
  readonly cachedPercent: number | null
  /** Mean output rate of a request after its first content; null if nothing was measured. */
  readonly tokensPerSecond: number | null
  readonly costNanos: number
}

export interface Percentiles {
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

/** The endings of a time span, read once for all figures. */
export interface Span {
  readonly endings: readonly Ended[]
  /** The time covered; less than requested if the ring buffer does not reach back that far. */
  readonly ms: number
  readonly now: Instant
}

export function readSpan(endings: Endings, now: Instant, ms: number): Span {
  const begun = endings.reachesBackTo
  return {
    endings: [...endings.after(Math.max(now - ms, (begun ?? 0) - 1) as Instant)],
    ms: begun === null ? ms : Math.min(ms, Math.max(1, now - begun)),
    now,
  }
}

/** `endings`: all of a span's, or a subset. */
export function toFigures(
  endings: readonly Ended[],
  { now, ms }: Pick<Span, 'now' | 'ms'>,
): Figures {
  const statuses = new Map<number, number>()
  const totals: number[] = []
  const firsts: number[] = []
  const sums = { prompt: 0, cached: 0, output: 0, answeringMs: 0, cost: 0, lastMinute: 0, ok: 0 }
  for (const ended of endings) {
    if (ended.endedAt > now - MINUTE_MS) sums.lastMinute++
    if (isOk(ended)) sums.ok++
    else statuses.set(ended.status, (statuses.get(ended.status) ?? 0) + 1)
    sums.cost += ended.costNanos
    if (ended.provider === null) continue
    totals.push(ended.totalMs)
    sums.prompt += ended.promptTokens
    sums.cached += ended.cachedTokens
    sums.output += ended.outputTokens
    if (ended.firstEventMs < 0) continue
    firsts.push(ended.firstEventMs)
    sums.answeringMs += ended.totalMs - ended.firstEventMs
  }
  return {
    requests: endings.length,
    lastMinute: Math.round((sums.lastMinute * MINUTE_MS) / Math.min(MINUTE_MS, ms)),
    ok: sums.ok,
    failed: [...statuses]
      .map(([status, count]) => ({ status, count }))
      .toSorted((a, b) => b.count - a.count || a.status - b.status),
    totalMs: percentiles(totals),
    firstEventMs: percentiles(firsts),
    outputTokens: sums.output,
    cachedPercent: sums.prompt === 0 ? null : (100 * sums.cached) / sums.prompt,
    tokensPerSecond: sums.answeringMs === 0 ? null : (1000 * sums.output) / sums.answeringMs,
    costNanos: sums.cost,
  }
}

/** A client's disconnect does not count as an error. */
const isOk = ({ status }: Ended): boolean => status < 400 || status === CLIENT_CLOSED_REQUEST

/** Only 5xx count: refusals and client errors say nothing about the gateway's health. */
export const errorPercent = ({ requests, failed }: Figures): number | null => {
  if (requests === 0) return null
  const broken = failed.reduce((sum, { status, count }) => sum + (status >= 500 ? count : 0), 0)
  return (100 * broken) / requests
}

/** Nearest rank. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number): number | null =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** The groups with the highest cost and their share in percent, highest first; the share is null if the total is zero. */
export function sharesOf<Name>(
  endings: readonly Ended[],
  nameOf: (ended: Ended) => Name,
  most: number,
): readonly { readonly name: Name; readonly costNanos: number; readonly percent: number | null }[] {
  const costs = new Map<Name, number>()
  let total = 0
  for (const ended of endings) {
    if (ended.provider === null) continue
    const name = nameOf(ended)
    costs.set(name, (costs.get(name) ?? 0) + ended.costNanos)
    total += ended.costNanos
  }
  return [...costs]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name, costNanos]) => ({
      name,
      costNanos,
      percent: total === 0 ? null : (100 * costNanos) / total,
    }))
}

/** The success rate of a provider's attempts in a span, in percent; null if there were none. */
export function servedPercent(served: number, failures: readonly HopFailure[]): number | null {
  const own = failures.filter(({ outcome }) => outcome !== 'rejected' && outcome !== 'no-image')
  const tries = served + own.length
  return tries === 0 ? null : (100 * served) / tries
}
