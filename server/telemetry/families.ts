/** Families of metrics as plain data, before anybody writes them down for Prometheus. */
import { renderUsdNumber } from '#domain/money.ts'
import { BUCKETS_MS, type Histogram } from './histogram.ts'
import { OTHER_KEYS, type Pace, type RequestRow, type Tally } from './tally.ts'

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** All with the same names of labels; none leaves the family out. */
  readonly samples: readonly Sample[]
}

export interface HistogramFamily {
  readonly name: string
  readonly help: string
  readonly type: 'histogram'
  /** In seconds, without +Inf. */
  readonly bounds: readonly number[]
  readonly series: readonly HistogramSeries[]
}

export interface HistogramSeries {
  readonly labels: Labels
  /** One per bound and one beyond them, each with all below it. */
  readonly cumulative: readonly number[]
  readonly sumSeconds: number
}

export const counter = (name: string, help: string, samples: readonly Sample[]): Family => ({
  name,
  help,
  type: 'counter',
  samples,
})

export const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({
  name,
  help,
  type: 'gauge',
  samples,
})

export const one = (value: number): readonly Sample[] => [{ labels: {}, value }]

/** What the tally has counted since the start. */
export const talliedFamilies = (tally: Tally): readonly (Family | HistogramFamily)[] => {
  const rows = [...tally.rows]
  return [
    ...requestFamilies(rows),
    ...usageFamilies(rows),
    pacing('gateway_request_duration_seconds', 'From arrival to the end', tally, 'total'),
    pacing(
      'gateway_time_to_first_token_seconds',
      'From arrival to the first content',
      tally,
      'firstToken',
    ),
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
      'gateway_notice_tries_total',
      'Tries to bring a notice, by channel and class of failure',
      spread(tally.tries, 'channel', 'outcome'),
    ),
  ]
}

/** The keys that have been counted by their own id. */
export const countedKeys = (tally: Tally): ReadonlySet<string> => {
  const keys = new Set([...tally.rows].map(({ key }) => key))
  keys.delete(OTHER_KEYS)
  return keys
}

const requestFamilies = (rows: readonly RequestRow[]): readonly Family[] => [
  counter(
    'gateway_requests_total',
    'Chat requests that have ended or were refused',
    summed(rows, (row) => [
      {
        labels: {
          key: row.key,
          model: row.model,
          provider: row.provider,
          status: String(row.status),
          code: row.code,
          stream: String(row.stream),
        },
        value: row.requests,
      },
    ]),
  ),
  counter(
    'gateway_limited_total',
    'Chat requests that a limit refused',
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

const usageFamilies = (rows: readonly RequestRow[]): readonly Family[] => [
  counter('gateway_cost_usd_total', 'Charged, in dollars; the ledger is exact', costs(rows)),
  counter(
    'gateway_tokens_total',
    'Tokens in disjoint classes; reasoning is part of output',
    summed(rows, ({ model, usage }) =>
      Object.entries({
        input: usage.inputTokens,
        cached_input: usage.cacheReadTokens,
        cache_write: usage.cacheWriteTokens,
        image_input: usage.imageInputTokens,
        output: usage.outputTokens,
        image_output: usage.imageOutputTokens,
      }).flatMap(([type, value]) => (value === 0 ? [] : [{ labels: { model, type }, value }])),
    ),
  ),
  counter(
    'gateway_images_total',
    'Pictures received',
    summed(rows, ({ model, usage }) =>
      usage.outputImages === 0 ? [] : [{ labels: { model }, value: usage.outputImages }],
    ),
  ),
]

/** Added up as integers, and divided once. */
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

/** Samples of the same labels become one. */
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

const LIMIT_NAMES: Readonly<Record<string, string>> = {
  rpm_limit: 'rpm',
  rpd_limit: 'rpd',
  concurrency_limit: 'concurrency',
  daily_spend_limit_usd: 'day',
  monthly_spend_limit_usd: 'month',
  balance_usd: 'balance',
  allowed_models: 'model',
}

const limitName = (limit: string): string => LIMIT_NAMES[limit] ?? limit

const pacing = (
  name: string,
  help: string,
  { paces }: Tally,
  which: 'total' | 'firstToken',
): HistogramFamily => ({
  name,
  help,
  type: 'histogram',
  bounds: BUCKETS_MS.map((ms) => ms / 1_000),
  series: [...paces]
    .filter(({ provider }) => provider !== '')
    .map((pace: Pace) => toSeries({ model: pace.model, provider: pace.provider }, pace[which]))
    .filter(({ cumulative }) => (cumulative.at(-1) ?? 0) > 0),
})

function toSeries(labels: Labels, { counts, sumMs }: Histogram): HistogramSeries {
  let below = 0
  return {
    labels,
    cumulative: counts.map((count) => {
      below += count
      return below
    }),
    sumSeconds: sumMs / 1_000,
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
