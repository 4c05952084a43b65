/** What is added up of the log, or of a slice of it: each engine reads as much at once as it may. */
import { HOUR_MS, type Instant } from '#domain/clock.ts'
import type { Drift } from '#domain/drift.ts'
import type { AccountId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { TrendHour } from '#domain/trend.ts'
import type { Slice } from '../rows/slice.ts'
import { all, type Statements } from '../statements.ts'

const LINES = `FROM activity WHERE generation_id >= $from AND generation_id < $below
  AND (CAST($account AS text) IS NULL OR account_id = $account)`

/** Money as text, because a sum may exceed 2^53. */
const TREND = `
  SELECT started_at / ${HOUR_MS} * ${HOUR_MS} AS hour, count(*) AS requests, count(*) FILTER (WHERE status >= 500) AS failed,
    count(*) FILTER (WHERE NOT admitted) AS refused, count(first_event_ms) AS answered,
    CAST(coalesce(sum(first_event_ms), 0) AS bigint) AS "firstEventMs",
    CAST(sum(input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens + image_input_tokens
      + output_tokens + image_output_tokens) AS bigint) AS tokens,
    CAST(sum(cost_nanos) AS text) AS cost
  ${LINES} GROUP BY 1 ORDER BY 1`

const DRIFT = `
  SELECT model, count(*) AS requests, CAST(sum(cost_nanos) AS text) AS charged, CAST(sum(stated_cost_nanos) AS text) AS stated
  ${LINES} AND stated_cost_nanos IS NOT NULL AND usage_source IS NOT NULL
  GROUP BY model ORDER BY model`

type TrendRow = Omit<TrendHour, 'cost'> & { readonly hour: Instant; readonly cost: string }

export function* addUpTrend(slice: Slice, account: AccountId | null): Statements<TrendHour[]> {
  const rows = yield* all<TrendRow>(TREND, { ...slice, account })
  return rows.map(({ cost, ...row }) => ({ ...row, cost: BigInt(cost) as UsdNanos }))
}

type DriftRow = Pick<Drift, 'model' | 'requests'> & {
  readonly charged: string
  readonly stated: string
}

export function* addUpDrift(slice: Slice, account: AccountId | null): Statements<Drift[]> {
  const rows = yield* all<DriftRow>(DRIFT, { ...slice, account })
  return rows.map(({ charged, stated, ...row }) => ({
    ...row,
    charged: BigInt(charged) as UsdNanos,
    stated: BigInt(stated) as UsdNanos,
  }))
}
