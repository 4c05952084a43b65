/** The usage report in SQLite: the log is added up slice by slice into a table of groups. */
import type { Database } from 'bun:sqlite'
import { DAY_MS, HOUR_MS, later } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { UsageDimension, UsageQuery, UsageReport } from '#domain/usage-report.ts'
import type { Connection } from '../engine/connection.ts'
import { openReading } from '../engine/reading.ts'
import { arrivedIn, slices } from '../engine/slices.ts'
import { MAX_SUMS_IN_MEMORY, spill } from '../engine/spill.ts'
import { statement } from '../engine/statement.ts'
import { type Group, type Groups, openGroups } from './usage-groups.ts'

/** A request is admitted once its body has come, so somewhat later than its id tells. */
const MAX_QUEUED_MS = HOUR_MS

const DIMENSIONS: Readonly<Record<UsageDimension, string>> = {
  account: 'account_id',
  key: 'key_id',
  user: "ifnull(end_user, '')",
  model: 'model',
  provider: "ifnull(provider, '')",
  surface: 'surface',
  day: `admitted_at / ${DAY_MS}`,
  hour: `admitted_at / ${HOUR_MS} * ${HOUR_MS}`,
}

/** Requests of others pass between two slices. @throws store_unavailable */
export async function readUsage(connection: Connection, query: UsageQuery): Promise<UsageReport> {
  const reading = openReading(connection)
  try {
    const groups = openGroups(reading.database)
    await addLog(reading.database, query, groups)
    return await groups.report(query.top)
  } finally {
    reading.close()
  }
}

interface Line {
  readonly first: string | number
  readonly second: string | number
  readonly prompt: number
  readonly completion: number
  readonly images: number
  readonly cost: number
  readonly rub: number
}

type Bounds = {
  readonly from: string
  readonly below: string
  readonly since: number
  readonly until: number
  readonly account: AccountId | null
  readonly maker: string | null
}

/** Adding up is left to us: SQLite would sort every slice by its names, which takes longer. */
const linesOf = ({ by, thenBy }: UsageQuery): string => `
  SELECT ${DIMENSIONS[by]} AS first, ${thenBy === null ? "''" : DIMENSIONS[thenBy]} AS second,
    input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens + image_input_tokens AS prompt,
    output_tokens + image_output_tokens AS completion, output_images AS images,
    cost_nanos AS cost, cost_rub_micros AS rub
  FROM activity
  WHERE generation_id >= $from AND generation_id < $below
    AND admitted = 1 AND admitted_at >= $since AND admitted_at < $until
    AND ($account IS NULL OR account_id = $account)
    AND ($maker IS NULL OR key_id IN (SELECT id FROM keys WHERE made_by = $maker))`

async function addLog(database: Database, query: UsageQuery, groups: Groups): Promise<void> {
  const lines = statement<Line, [Bounds]>(database, linesOf(query))
  const { since, until, accountId: account = null, madeBy: maker = null } = query
  const within = { since: since ?? 0, until: until ?? Number.MAX_SAFE_INTEGER, account, maker }
  const arrived = arrivedIn({
    ...(since !== undefined && { since: later(since, -MAX_QUEUED_MS) }),
    ...(until !== undefined && { until }),
  })
  const sums = new Map<string, Group>()
  for await (const slice of slices(database, 'activity', arrived)) {
    for (const line of lines().iterate({ ...within, ...slice })) addTo(sums, line)
    if (sums.size >= MAX_SUMS_IN_MEMORY) await spill(sums, groups.put)
  }
  await spill(sums, groups.put)
}

function addTo(sums: Map<string, Group>, line: Line): void {
  const { first, second } = line
  // A name may have any character in it, so that its length has to tell where it ends.
  const name = `${String(first).length}:${first}${second}`
  let sum = sums.get(name)
  if (sum === undefined) {
    sum = { first, second, requests: 0, prompt: 0, completion: 0, images: 0, cost: 0n, rub: 0n }
    sums.set(name, sum)
  }
  sum.requests++
  sum.prompt += line.prompt
  sum.completion += line.completion
  sum.images += line.images
  sum.cost += BigInt(line.cost)
  sum.rub += BigInt(line.rub)
}
