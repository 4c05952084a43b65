/** Recent traffic, latency and errors of models and providers. */
import type { Catalogue } from '#domain/catalogue.ts'
import { dayOf, dayStart, later } from '#domain/clock.ts'
import { renderUsd } from '#domain/money.ts'
import {
  errorPercent,
  FIGURES_MS,
  type Span,
  servedPercent,
  toFigures,
} from '#domain/snapshot/figures.ts'
import type { HopFailure } from '#domain/snapshot/pulse.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import { MAX_USAGE_GROUPS, type UsageReport } from '#domain/usage-report.ts'
import { credentialTroubles, providerHealth } from '../credential-trouble.ts'
import type { LiveFacts, OperatorDeps } from '../deps.ts'
import type { ModelTrafficRecord, ProviderTrafficRecord } from './record.ts'
import { integerOrNull, tenthsOrNull } from './traffic.ts'

/** The cost of each model since midnight UTC; scans the day's log. */
export const readModelDay = ({ store, clock }: OperatorDeps): Promise<UsageReport> =>
  store.activity.usage({
    by: 'model',
    thenBy: null,
    since: dayStart(dayOf(clock.now())),
    top: MAX_USAGE_GROUPS,
  })

/** Models used recently or today, the most expensive first, then the busiest. `span` is of five minutes. */
export function renderModels(
  watch: Watch,
  span: Span,
  today: UsageReport,
  aliases: Catalogue['aliases'],
): readonly ModelTrafficRecord[] {
  const answered = span.endings.filter(({ provider }) => provider !== null)
  const ended = Map.groupBy(answered, ({ model }) => model)
  const running = watch.inFlight(Number.POSITIVE_INFINITY)
  const days = new Map(today.rows.map((row) => [String(row.by), row]))
  const names = new Set([...ended.keys(), ...days.keys(), ...running.map(({ model }) => model)])
  const rows = [...names].map((model): ModelTrafficRecord => {
    const own = ended.get(model) ?? []
    const figures = toFigures(own, span)
    const day = days.get(model)
    const providers = new Set(own.flatMap(({ provider }) => provider ?? []))
    return {
      model,
      aliases: [...aliases].filter(([, id]) => id === model).map(([name]) => name),
      providers: [...providers].toSorted(),
      requests_per_minute: figures.lastMinute,
      in_flight: running.filter((one) => one.model === model).length,
      p50_ms: integerOrNull(figures.totalMs.p50),
      p95_ms: integerOrNull(figures.totalMs.p95),
      first_byte_p50_ms: integerOrNull(figures.firstEventMs.p50),
      tokens_per_second: tenthsOrNull(figures.tokensPerSecond),
      error_percent: tenthsOrNull(errorPercent(figures)),
      requests_day: day?.requests ?? 0,
      spend_day_usd: renderUsd(day?.cost ?? (0n as never)),
      share_percent:
        today.total.cost === 0n
          ? null
          : Number(((day?.cost ?? 0n) * 1_000n) / today.total.cost) / 10,
    }
  })
  return rows.toSorted(
    (a, b) =>
      Number(b.spend_day_usd) - Number(a.spend_day_usd) ||
      b.requests_per_minute - a.requests_per_minute ||
      a.model.localeCompare(b.model),
  )
}

export async function readProviders(
  { store }: OperatorDeps,
  live: LiveFacts,
  watch: Watch,
  span: Span,
): Promise<readonly ProviderTrafficRecord[]> {
  const since = later(span.now, -FIGURES_MS)
  const failures = [...watch.pulse.failures.since()].filter(({ at }) => at > since)
  const running = watch.inFlight(Number.POSITIVE_INFINITY)
  const { models, providers } = store.catalogue.current()
  const cards = [...models.values()]
  const hops = live.hops()
  return [...providers.values()].map((provider): ProviderTrafficRecord => {
    const { name, type } = provider
    const own = failures.filter((failure) => failure.provider === name)
    const credentials = credentialTroubles(live, provider)
    const readings = hops.filter((hop) => hop.provider === name)
    const health = providerHealth(provider, readings, credentials)
    const served = renderServed(name, span, own)
    return {
      name,
      type,
      models: cards.filter((card) => card.provider === name).length,
      health,
      credentials,
      state: stateOf(health.state, served.served_percent),
      ...served,
      in_flight: running.filter((one) => one.provider === name).length,
    }
  })
}

/** A provider's results in a span; `failures` are its own. */
export function renderServed(name: string, span: Span, failures: readonly HopFailure[]) {
  const own = span.endings.filter(({ provider }) => provider === name)
  const served = own.filter(({ status }) => status < 500)
  return {
    served_percent: tenthsOrNull(servedPercent(served.length, failures)),
    p95_ms: integerOrNull(toFigures(own, span).totalMs.p95),
    requests: own.length,
    failed: countStatuses(failures),
  }
}

const HEALTHY_PERCENT = 99

function stateOf(
  health: 'serving' | 'resting',
  percent: number | null,
): ProviderTrafficRecord['state'] {
  if (health === 'resting' || percent === 0) return 'down'
  if (percent === null) return 'unused'
  return percent < HEALTHY_PERCENT ? 'degraded' : 'ok'
}

/** The most frequent first. */
const countStatuses = (failures: readonly HopFailure[]): ProviderTrafficRecord['failed'] =>
  [...Map.groupBy(failures, ({ status }) => status)]
    .map(([status, all]) => ({ status, count: all.length }))
    .toSorted((a, b) => b.count - a.count)
