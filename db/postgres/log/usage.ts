/** The usage report in PostgreSQL, added up by the database. */
import { DAY_MS, HOUR_MS, later } from '#domain/clock.ts'
import type { RubMicros, UsdNanos } from '#domain/money.ts'
import {
  addSums,
  NO_SUM,
  subtractSums,
  type UsageDimension,
  type UsageQuery,
  type UsageReport,
  type UsageRow,
  type UsageSum,
} from '#domain/usage-report.ts'
import { MAX_QUEUED_MS } from '../../rows/served-line.ts'
import { arrivedIn, BEHIND_ALL } from '../../rows/slice.ts'
import type { Database } from '../engine/database.ts'

const DIMENSIONS: Readonly<Record<UsageDimension, string>> = {
  account: 'account_id',
  key: 'key_id',
  user: "coalesce(end_user, '')",
  model: 'model',
  provider: "coalesce(provider, '')",
  surface: 'surface',
  day: `admitted_at / ${DAY_MS}`,
  hour: `admitted_at / ${HOUR_MS} * ${HOUR_MS}`,
}

/** As text what may be larger than a number can tell. */
const SUMS = `count(*) AS requests,
  coalesce(sum(input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens + image_input_tokens), 0)::bigint AS prompt,
  coalesce(sum(output_tokens + image_output_tokens), 0)::bigint AS completion, coalesce(sum(output_images), 0)::bigint AS images,
  coalesce(sum(cost_nanos), 0)::text AS cost, coalesce(sum(cost_rub_micros), 0)::text AS rub`

const LINES = `FROM activity
  WHERE generation_id >= $from AND generation_id < $below AND admitted AND admitted_at >= $since AND admitted_at < $until
    AND ($account::text IS NULL OR account_id = $account)
    AND ($maker::text IS NULL OR key_id IN (SELECT id FROM keys WHERE made_by = $maker))`

interface SumRow {
  readonly requests: number
  readonly prompt: number
  readonly completion: number
  readonly images: number
  readonly cost: string
  readonly rub: string
}

interface GroupRow extends SumRow {
  readonly first: string | number
  readonly second: string | number
}

export async function readUsage(database: Database, query: UsageQuery): Promise<UsageReport> {
  await database.flush()
  const { by, thenBy, since, until, accountId: account = null, madeBy: maker = null } = query
  const arrived = arrivedIn({
    ...(since !== undefined && { since: later(since, -MAX_QUEUED_MS) }),
    ...(until !== undefined && { until }),
  })
  const bindings = {
    from: arrived.from ?? '',
    below: arrived.below ?? BEHIND_ALL,
    since: since ?? 0,
    until: until ?? Number.MAX_SAFE_INTEGER,
    account,
    maker,
    among: query.among?.map((group) => group ?? '') ?? null,
  }
  const second = thenBy === null ? "''::text" : DIMENSIONS[thenBy]
  const lines = query.among === undefined ? LINES : `${LINES} AND ${second} = ANY ($among::text[])`
  const groups = `SELECT ${DIMENSIONS[by]} AS first, ${second} AS second, ${SUMS}, sum(cost_nanos) AS whole ${lines} GROUP BY 1, 2`
  return await database.snapshot(async (tx) => {
    const rows = await tx.all<GroupRow>(
      `${groups} ORDER BY whole DESC, requests DESC, first, second LIMIT $top`,
      { ...bindings, top: query.top },
    )
    const all = await tx.get<SumRow>(`SELECT ${SUMS} ${lines}`, bindings)
    const counted = await tx.get<{ n: number }>(
      `SELECT count(*) AS n FROM (${groups}) found`,
      bindings,
    )
    const found = rows.map(toRow)
    const total = all === null ? NO_SUM : toSum(all)
    return {
      rows: found,
      other: subtractSums(total, found.reduce<UsageSum>(addSums, NO_SUM)),
      others: (counted?.n ?? 0) - found.length,
      total,
    }
  })
}

const toSum = (row: SumRow): UsageSum => ({
  requests: row.requests,
  promptTokens: row.prompt,
  completionTokens: row.completion,
  images: row.images,
  cost: BigInt(row.cost) as UsdNanos,
  costRub: BigInt(row.rub) as RubMicros,
})

const toRow = ({ first, second, ...row }: GroupRow): UsageRow => ({
  by: first === '' ? null : first,
  thenBy: second === '' ? null : second,
  ...toSum(row),
})
