/** Metric families as plain data, independent of Prometheus's format. */
import { limitNamed } from '#domain/limits.ts'
import { renderUsdNumber } from '#domain/money.ts'
import type { Channel, NoticeType } from '#domain/notice.ts'
import type { Histogram } from './histogram.ts'
import { semanticName } from './semantic-names.ts'
import { OTHER_KEYS, type RequestRow, type ServedModel, type Tally } from './tally.ts'

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** All with the same label names; a family without samples is not rendered. */
  readonly samples: readonly Sample[]
}

export interface HistogramFamily {
  readonly name: string
  readonly help: string
  readonly type: 'histogram'
  readonly series: readonly HistogramSeries[]
}

export interface HistogramSeries {
  readonly labels: Labels
  /** Without +Inf. */
  readonly bounds: readonly number[]
  /** One per bound and one for +Inf, cumulative. */
  readonly cumulative: readonly number[]
  readonly sum: number
}

export const counter = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({
  name,
  help,
  type: 'counter',
  samples,
})

export const gauge = (name: string, help: string, samples: readonly Sample[]): MetricFamily => ({
  name,
  help,
  type: 'gauge',
  samples,
})

export const one = (value: number): readonly Sample[] => [{ labels: {}, value }]

/** The families of everything counted since the start. */
export const talliedFamilies = (tally: Tally): readonly (MetricFamily | HistogramFamily)[] => {
  const rows = [...tally.rows]
  return [
    ...requestFamilies(rows),
    ...usageFamilies(rows),
    ...servingFamilies(tally),
    counter(
      'gateway_upstream_errors_total',
      "Attempts that failed, by what became of them and the provider's own status",
      [...tally.failures].map(({ provider, outcome, status, count }) => ({
        labels: { provider, outcome, status: status === null ? '' : String(status) },
        value: count,
      })),
    ),
    counter(
      'gateway_http_responses_total',
      'Answers of the gateway listener, also to requests without a key',
      spread(tally.responses, 'route', 'status'),
    ),
    counter(
      'gateway_webhook_deliveries_total',
      'Tries to bring a webhook, by class of failure',
      deliveries(tally, 'webhook'),
    ),
    counter(
      'gateway_email_deliveries_total',
      'Tries to bring a mail, by class of failure',
      deliveries(tally, 'email'),
    ),
    counter(
      'gateway_signin_events_total',
      'Sign-ins to applications, codes sent, and refusals',
      spread(tally.signins, 'client', 'outcome'),
    ),
  ]
}

const deliveries = ({ tries }: Tally, channel: Channel): readonly Sample[] =>
  [...(tries.get(channel) ?? [])].map(([outcome, value]) => ({
    labels: { event: 'gateway.low_balance' satisfies NoticeType, outcome },
    value,
  }))

/** Under our own names and under those of OpenTelemetry's draft conventions for generative AI. */
const servingFamilies = ({ servedModels }: Tally): readonly HistogramFamily[] => {
  const served = [...servedModels].filter(({ provider }) => provider !== '')
  const own = ({ model, provider }: ServedModel): Labels => ({ model, provider })
  const common = ({ model, provider }: ServedModel): Labels => ({
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: semanticName(provider),
    gen_ai_request_model: model,
    gen_ai_response_model: model,
  })
  const seconds = (name: string, help: string, labels: typeof own, which: 'total' | 'firstToken') =>
    histogram(
      name,
      help,
      served.map((one) => toSeries(labels(one), one[which], 1_000)),
    )
  const [whole, first] = ['From arrival to the end', 'From arrival to the first content']
  const tokens = served.flatMap((one) => [
    toSeries({ ...common(one), gen_ai_token_type: 'input' }, one.input, 1),
    toSeries({ ...common(one), gen_ai_token_type: 'output' }, one.output, 1),
  ])
  return [
    seconds('gateway_request_duration_seconds', whole, own, 'total'),
    seconds('gateway_time_to_first_token_seconds', first, own, 'firstToken'),
    seconds('gen_ai_server_request_duration_seconds', whole, common, 'total'),
    seconds('gen_ai_server_time_to_first_token_seconds', first, common, 'firstToken'),
    histogram('gen_ai_client_token_usage', 'Tokens of a request', tokens),
  ]
}

/** The ids of the keys that are counted separately. */
export const countedKeys = (tally: Tally): ReadonlySet<string> => {
  const keys = new Set([...tally.rows].map(({ key }) => key))
  keys.delete(OTHER_KEYS)
  return keys
}

const requestFamilies = (rows: readonly RequestRow[]): readonly MetricFamily[] => [
  counter(
    'gateway_requests_total',
    'Requests of every surface that have ended or were refused',
    summed(rows, (row) => [
      {
        labels: {
          key: row.key,
          model: row.model,
          provider: row.provider,
          status: String(row.status),
          code: row.code,
          stream: String(row.stream),
          surface: row.surface,
        },
        value: row.requests,
      },
    ]),
  ),
  counter(
    'gateway_limited_total',
    'Those that a limit refused',
    summed(rows, (row) =>
      row.limit === ''
        ? []
        : [
            {
              labels: { key: row.key, limit: limitName(row.limit), code: row.code },
              value: row.requests,
            },
          ],
    ),
  ),
]

const usageFamilies = (rows: readonly RequestRow[]): readonly MetricFamily[] => [
  counter('gateway_cost_usd_total', 'Charged, in dollars; the ledger is exact', costs(rows)),
  counter(
    'gateway_tokens_total',
    'Tokens in disjoint classes; reasoning is part of output',
    summed(rows, ({ model, usage }) =>
      Object.entries({
        input: usage.inputTokens,
        cached_input: usage.cacheReadTokens,
        cache_write: usage.cacheWriteTokens,
        cache_write_1h: usage.cacheWrite1hTokens,
        image_input: usage.imageInputTokens,
        output: usage.outputTokens,
        image_output: usage.imageOutputTokens,
      }).flatMap(([type, value]) => (value === 0 ? [] : [{ labels: { model, type }, value }])),
    ),
  ),
  counter(
    'gateway_images_total',
    'Images received',
    summed(rows, ({ model, usage }) =>
      usage.outputImages === 0 ? [] : [{ labels: { model }, value: usage.outputImages }],
    ),
  ),
  counter(
    'gateway_search_units_total',
    'Search units of models that rank documents',
    summed(rows, ({ model, usage }) =>
      usage.searchUnits === 0 ? [] : [{ labels: { model }, value: usage.searchUnits }],
    ),
  ),
]

/** Summed as integers and converted once. */
function costs(rows: readonly RequestRow[]): readonly Sample[] {
  const sums = new Map<string, { key: string; model: string; cost: bigint }>()
  for (const { key, model, cost } of rows) {
    if (cost === 0n) continue
    const name = JSON.stringify([key, model])
    const sum = sums.get(name)
    if (sum) sum.cost += cost
    else sums.set(name, { key, model, cost })
  }
  return [...sums.values()].map(({ key, model, cost }) => ({
    labels: { key, model },
    value: renderUsdNumber(cost as RequestRow['cost']),
  }))
}

/** Adds up samples with the same labels. */
function summed(
  rows: readonly RequestRow[],
  samplesOf: (row: RequestRow) => readonly Sample[],
): readonly Sample[] {
  const sums = new Map<string, { labels: Labels; value: number }>()
  for (const { labels, value } of rows.flatMap(samplesOf)) {
    const name = JSON.stringify(Object.values(labels))
    const sum = sums.get(name)
    if (sum) sum.value += value
    else sums.set(name, { labels, value })
  }
  return [...sums.values()]
}

/** The balance is no limit that somebody sets. */
const limitName = (limit: string): string =>
  limit === 'balance_usd' ? 'balance' : (limitNamed(limit)?.metric ?? limit)

const histogram = (
  name: string,
  help: string,
  series: readonly HistogramSeries[],
): HistogramFamily => ({
  name,
  help,
  type: 'histogram',
  series: series.filter(({ cumulative }) => (cumulative.at(-1) ?? 0) > 0),
})

/** `divisor` converts the counted unit to the exported one. */
function toSeries(
  labels: Labels,
  { scale, counts, sum }: Histogram,
  divisor: number,
): HistogramSeries {
  let below = 0
  return {
    labels,
    bounds: scale.bounds.map((bound) => bound / divisor),
    cumulative: counts.map((count) => {
      below += count
      return below
    }),
    sum: sum / divisor,
  }
}

const spread = (
  counts: ReadonlyMap<string, ReadonlyMap<string | number, number>>,
  outer: string,
  inner: string,
): readonly Sample[] =>
  [...counts].flatMap(([first, within]) =>
    [...within].map(([second, value]) => ({
      labels: { [outer]: first, [inner]: String(second) },
      value,
    })),
  )
