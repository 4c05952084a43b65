/** Requests in progress, and the rates, latencies and curves of those that ended in the last five minutes. */
import { HOUR_MS, type Instant, MINUTE_MS, renderInstant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import { errorPercent, type Percentiles, type Span, toFigures } from '#domain/snapshot/figures.ts'
import type { InFlight } from '#domain/snapshot/in-flight.ts'
import { type Flow, STEP_SECONDS } from '#domain/snapshot/pulse.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import type {
  InFlightRecord,
  InFlightSumRecord,
  PercentilesRecord,
  TrafficRecord,
} from './record.ts'

/** A screen shows about thirty; the rest is for filtering. */
const MAX_REQUESTS = 500

/** Of all accounts, or of one; the peak is that of the gateway. */
export function renderInFlight(
  watch: Watch,
  now: Instant,
  account: AccountId | null,
): InFlightSumRecord {
  const all = watch.inFlight(account === null ? MAX_REQUESTS : Number.POSITIVE_INFINITY)
  const own = account === null ? all : all.filter(({ key }) => key.accountId === account)
  return {
    count: account === null ? watch.count() : own.length,
    peak: watch.peak(),
    requests: own.slice(0, MAX_REQUESTS).map((one) => renderOne(one, now)),
  }
}

export function renderOne(one: InFlight, now: Instant): InFlightRecord {
  const elapsedMs = Math.max(0, now - one.arrivedAt)
  const answeringMs = one.firstEventMs === null ? 0 : elapsedMs - one.firstEventMs
  return {
    node: one.node,
    id: one.generationId,
    request_id: one.requestId,
    key_id: one.key.id,
    key_name: one.key.name,
    user: one.endUser,
    surface: one.surface,
    session: one.session,
    model: one.model,
    provider: one.provider,
    stream: one.stream,
    state: one.state,
    arrived_at: renderInstant(one.arrivedAt),
    elapsed_ms: elapsedMs,
    first_byte_ms: one.firstEventMs,
    prompt_tokens: one.promptTokens,
    completion_tokens: one.outputTokens,
    tokens_per_second:
      answeringMs > 0 && one.outputTokens !== null
        ? oneDecimal((1000 * one.outputTokens) / answeringMs)
        : null,
    cost_usd: renderUsd(one.cost),
    failed_attempts: one.failedAttempts,
  }
}

export function renderTraffic({ pulse, inFlight }: Watch, span: Span): TrafficRecord {
  const { now, ms } = span
  const figures = toFigures(span.endings, span)
  const curves = pulse.seconds.curves(now, inFlight(MAX_REQUESTS).flatMap(toFlow(now)))
  const minute = curves.tokensPerSecond.slice(-MINUTE_MS / 1000 / STEP_SECONDS)
  const seconds = Math.round(ms / 1000)
  return {
    seconds,
    requests_per_minute: figures.lastMinute,
    tokens_per_second: oneDecimal(sum(minute) / minute.length),
    total_ms: renderPercentiles(figures.totalMs),
    first_byte_ms: renderPercentiles(figures.firstEventMs),
    error_percent: tenthsOrNull(errorPercent(figures)),
    ok: figures.ok,
    failed: figures.failed,
    spend_per_hour_usd: renderUsd(perHour(figures.costNanos, ms)),
    curves: {
      step_seconds: STEP_SECONDS,
      requests_per_second: curves.requestsPerSecond.map(oneDecimal),
      tokens_per_second: curves.tokensPerSecond.map(oneDecimal),
      first_byte_ms: curves.firstEventMs.map((ms) => (ms === null ? null : Math.round(ms))),
    },
  }
}

/** The tokens of a request in progress, spread over the time since its first. */
const toFlow =
  (now: Instant) =>
  ({ arrivedAt, firstEventMs, outputTokens }: InFlight): readonly Flow[] =>
    firstEventMs === null || !outputTokens
      ? []
      : [{ fromMs: arrivedAt + firstEventMs, toMs: now, tokens: outputTokens }]

const CENT_NANOS = 10_000_000n

/** Rounded to cents, because it is an estimate. */
const perHour = (costNanos: number, ms: number): UsdNanos => {
  const nanos = BigInt(Math.round((costNanos * HOUR_MS) / Math.max(1, ms)))
  return (((nanos + CENT_NANOS / 2n) / CENT_NANOS) * CENT_NANOS) as UsdNanos
}

const renderPercentiles = ({ p50, p95, p99 }: Percentiles): PercentilesRecord => ({
  p50: integerOrNull(p50),
  p95: integerOrNull(p95),
  p99: integerOrNull(p99),
})

export const integerOrNull = (value: number | null): number | null =>
  value === null ? null : Math.round(value)

/** To one decimal place. */
export const tenthsOrNull = (value: number | null): number | null =>
  value === null ? null : oneDecimal(value)

export const oneDecimal = (value: number): number => Math.round(value * 10) / 10

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
