/** The usage report in SQLite: the log is added up slice by slice into a table of groups. */
import type { Database } from 'bun:sqlite'
import { DAY_MS, type Day, dayOf, HOUR_MS, type Instant, later } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { UsageDimension, UsageQuery, UsageReport } from '#domain/usage-report.ts'
import { arrivedIn } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { nextTurn } from '../engine/next-turn.ts'
import { openReading } from '../engine/reading.ts'
import { slices } from '../engine/slices.ts'
import { MAX_SUMS_IN_MEMORY, spill } from '../engine/spill.ts'
import { statement } from '../engine/statement.ts'
import { type Group, type Groups, openGroups } from './usage-groups.ts'
import { namesOf, type Piece, type UsagePieces } from './usage-pieces.ts'

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
export async function readUsage(
  connection: Connection,
  kept: UsagePieces,
  query: UsageQuery,
): Promise<UsageReport> {
  const pieces = overOf(kept, query)
  const reading = openReading(connection)
  try {
    const groups = openGroups(reading.database)
    await addAll(reading.database, kept, pieces, query, groups)
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

const overOf = (kept: UsagePieces, query: UsageQuery): readonly Piece[] => {
  const { since, until = BEHIND_ALL } = query
  return since === undefined || namesOf(query) === null ? [] : kept.overWithin(since, until)
}

/** What is over from what is kept of it, the rest from the log. */
async function addAll(
  database: Database,
  kept: UsagePieces,
  pieces: readonly Piece[],
  query: UsageQuery,
  groups: Groups,
): Promise<void> {
  const { since, until = BEHIND_ALL, accountId, madeBy } = query
  const names = namesOf(query)
  const [first, last] = [pieces[0], pieces.at(-1)]
  if (first === undefined || last === undefined || since === undefined || names === null) {
    return await addLog(database, query, groups)
  }
  if (since < first.since) await addLog(database, { ...query, until: first.since }, groups)
  const [by = 'account', thenBy = null] = names
  const name = JSON.stringify([by, thenBy, accountId, madeBy])
  const isAmong = amongOf(query)
  const sums = new Map<string, Group>()
  for (const piece of pieces) {
    const named = { ...query, ...piece, by, thenBy }
    const found = await kept.of(name, piece, () => addPiece(database, named))
    if (found === null) await addLog(database, { ...query, ...piece }, groups)
    for (const group of found ?? []) {
      const placed = onDay(query, dayOf(piece.since), group)
      if (isAmong(placed)) addGroup(sums, placed)
    }
    if (sums.size >= MAX_SUMS_IN_MEMORY) await spill(sums, groups.put)
    await nextTurn()
  }
  await spill(sums, groups.put)
  if (last.until < until) await addLog(database, { ...query, since: last.until }, groups)
}

const BEHIND_ALL = Number.MAX_SAFE_INTEGER as Instant

/** Whether a group is one of those that are wanted. */
function amongOf({ among }: UsageQuery): (group: Pick<Group, 'second'>) => boolean {
  if (among === undefined) return () => true
  const names = new Set<string | number>(among.map((name) => name ?? ''))
  return ({ second }) => names.has(second)
}

/** A group of a day, grouped as the report is: the first name may be its second. */
function onDay({ by, thenBy }: UsageQuery, day: Day, group: Readonly<Group>): Readonly<Group> {
  if (by === 'day') return { ...group, first: day, second: thenBy === null ? '' : group.first }
  return thenBy === 'day' ? { ...group, second: day } : group
}

/** Null where it has too many groups to be kept. */
async function addPiece(database: Database, query: UsageQuery): Promise<readonly Group[] | null> {
  const sums = new Map<string, Group>()
  for await (const lines of readLog(database, query)) {
    for (const line of lines) addLine(sums, line)
    if (sums.size > MAX_SUMS_IN_MEMORY) return null
  }
  return [...sums.values()]
}

async function addLog(database: Database, query: UsageQuery, groups: Groups): Promise<void> {
  const sums = new Map<string, Group>()
  const isAmong = amongOf(query)
  for await (const lines of readLog(database, query)) {
    for (const line of lines) if (isAmong(line)) addLine(sums, line)
    if (sums.size >= MAX_SUMS_IN_MEMORY) await spill(sums, groups.put)
  }
  await spill(sums, groups.put)
}

/** Slice by slice. */
async function* readLog(
  database: Database,
  query: UsageQuery,
): AsyncGenerator<Iterable<Line>, void> {
  const lines = statement<Line, [Bounds]>(database, linesOf(query))
  const { since, until, accountId: account = null, madeBy: maker = null } = query
  const within = { since: since ?? 0, until: until ?? Number.MAX_SAFE_INTEGER, account, maker }
  const arrived = arrivedIn({
    ...(since !== undefined && { since: later(since, -MAX_QUEUED_MS) }),
    ...(until !== undefined && { until }),
  })
  for await (const slice of slices(database, 'activity', arrived)) {
    yield lines().iterate({ ...within, ...slice })
  }
}

function addLine(sums: Map<string, Group>, line: Line): void {
  const sum = sumOf(sums, line)
  sum.requests++
  sum.prompt += line.prompt
  sum.completion += line.completion
  sum.images += line.images
  sum.cost += BigInt(line.cost)
  sum.rub += BigInt(line.rub)
}

function addGroup(sums: Map<string, Group>, group: Readonly<Group>): void {
  const sum = sumOf(sums, group)
  sum.requests += group.requests
  sum.prompt += group.prompt
  sum.completion += group.completion
  sum.images += group.images
  sum.cost += group.cost
  sum.rub += group.rub
}

function sumOf(
  sums: Map<string, Group>,
  { first, second }: Pick<Group, 'first' | 'second'>,
): Group {
  // A name may have any character in it, so that its length has to tell where it ends.
  const name = `${String(first).length}:${first}${second}`
  const known = sums.get(name)
  if (known !== undefined) return known
  const sum = { first, second, requests: 0, prompt: 0, completion: 0, images: 0, cost: 0n, rub: 0n }
  sums.set(name, sum)
  return sum
}
