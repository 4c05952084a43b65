/** Figures: rates, percentiles and shares of the requests that ended in a span of time, of all or of one key, model or provider. */
import { CLIENT_CLOSED_REQUEST } from '../activity.ts'
import { type Instant, later, MINUTE_MS } from '../clock.ts'
import type { Ended, Endings } from './endings.ts'
import type { HopFailure } from './pulse.ts'

export const FIGURES_MS = 300_000

/** A percentile is null where there is nothing to take it of. */
export interface Figures {
  /** All that ended, the refused too. */
  readonly requests: number
  /** In the last minute; of a span that reaches less far back, as many as a minute of it would be. */
  readonly lastMinute: number
  readonly ok: number
  /** Those that ended otherwise, by status, the most frequent first. */
  readonly failed: readonly { readonly status: number; readonly count: number }[]
  /** Of admitted requests, to their end. */
  readonly totalMs: Percentiles
  /** Of those that had content, to the first of it. */
  readonly firstEventMs: Percentiles
  readonly outputTokens: number
  /** Of the prompt tokens, in percent; null where there were none. */
  readonly cachedPercent: number | null
  /** Output per second of answering, a request on average; null where nothing was measured. */
  readonly tokensPerSecond: number | null
  readonly costNanos: number
}

export interface Percentiles {
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

/** The endings of a span, read once for however many figures are made of them. */
export interface Span {
  readonly endings: readonly Ended[]
  /** How much of it is really covered; less than was asked for when there were too many to keep. */
  readonly ms: number
  readonly now: Instant
}

export function readSpan(endings: Endings, now: Instant, ms: number): Span {
  const covered = endings.reachesBackTo
  return {
    endings: [...endings.after(later(now, -ms))],
    ms: covered === null ? ms : Math.min(ms, Math.max(1, now - covered)),
    now,
  }
}

/** `endings` are those of a span, or some of them. */
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

/** A client that left is nobody's error. */
const isOk = ({ status }: Ended): boolean => status < 400 || status === CLIENT_CLOSED_REQUEST

/** What a limit refused, or the client did wrong, says nothing about how well the gateway does: 5xx alone does. */
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

/** Whoever has the most of a cost, with its share in percent, the largest first; no share where nothing cost anything. */
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

/** How many of a provider's tries in a span ended well, in percent; null where it was not asked. */
export function servedPercent(served: number, failures: readonly HopFailure[]): number | null {
  const own = failures.filter(({ outcome }) => outcome !== 'rejected' && outcome !== 'no-image')
  const tries = served + own.length
  return tries === 0 ? null : (100 * served) / tries
}
