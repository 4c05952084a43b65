/** The usage report in SQLite: whole days from what is kept of them, the rest added up from the log slice by slice. */
import type { Database } from 'bun:sqlite'
import { DAY_MS, type Day, dayStart, type Instant, later, nextDay } from '#domain/clock.ts'
import type { UsageQuery, UsageReport } from '#domain/usage-report.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import { MAX_QUEUED_MS } from '../../rows/served-line.ts'
import { arrivedIn } from '../../rows/slice.ts'
import type { Connection } from '../engine/connection.ts'
import { openReading, type Reading } from '../engine/reading.ts'
import { slices } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'
import { type DaySums, lineOf, type Names, type UsageDays } from './usage-days.ts'
import { type Groups, type Line, nameOf, openGroups } from './usage-groups.ts'

/** Requests of others pass between two slices. @throws store_unavailable */
export async function readUsage(
  connection: Connection,
  kept: UsageDays,
  query: UsageQuery,
): Promise<UsageReport> {
  let reading: Reading | null = null
  const open = (): Database => {
    reading ??= openReading(connection)
    return reading.database
  }
  try {
    const groups = openGroups(open)
    await addAll(connection, open, kept, query, groups)
    return await groups.report(query.top)
  } finally {
    ;(reading as Reading | null)?.close()
  }
}

/** Of whole days what is kept, before and behind them the log. */
async function addAll(
  connection: Connection,
  open: () => Database,
  kept: UsageDays,
  query: UsageQuery,
  groups: Groups,
): Promise<void> {
  const whole = wholeDaysOf(connection, query)
  if (whole === null) return await addLog(open(), query, groups)
  const { first, end } = whole
  const days = await kept.from(namesOf(query), first)
  const { since, until } = query
  if (since !== undefined && since < dayStart(first)) {
    await addLog(open(), { ...query, until: dayStart(first) }, groups)
  }
  let size = 0
  for (const [day, sums] of days) {
    if (day < first || day >= end) continue
    const added = addDay(query, day, sums, groups)
    if (added === null) {
      const next = dayStart(nextDay(day))
      await addLog(open(), { ...query, since: dayStart(day), until: next }, groups)
    }
    size += added ?? 0
    if (size < GROUPS_PER_TURN) continue
    size = 0
    await groups.spillIfMany()
    await idleTurn()
  }
  if (until !== undefined && until > dayStart(end as Day)) {
    await addLog(open(), { ...query, since: dayStart(end as Day) }, groups)
  }
}

/** Added up in half a millisecond. */
const GROUPS_PER_TURN = 2_000

/** From the first, and up to the one before `end`; null where there are none that are kept. */
function wholeDaysOf(
  { database, commit }: Connection,
  { by, thenBy, since, until }: UsageQuery,
): { readonly first: Day; readonly end: number } | null {
  if (since === undefined || by === 'hour' || thenBy === 'hour') return null
  commit.flush()
  const keptSince = database
    .query<{ since: Instant }, []>("SELECT since FROM kept_since WHERE log = 'activity'")
    .get()?.since
  const from = keptSince === undefined ? since : Math.max(since, keptSince + MAX_QUEUED_MS)
  const first = Math.ceil(from / DAY_MS) as Day
  const end = until === undefined ? Number.POSITIVE_INFINITY : Math.floor(until / DAY_MS)
  return first < end ? { first, end } : null
}

/** What tells the sums of a day apart; null where nothing does but the day. */
function namesOf({ by, thenBy, accountId, madeBy }: UsageQuery): Names {
  const [first = null, second = null] = [by, thenBy].filter((name) => name !== 'day')
  return { by: first, thenBy: second, accountId, madeBy }
}

/** How many groups were added; null for a day that has too many to be kept. */
function addDay(
  query: UsageQuery,
  day: Day,
  { total, groups }: DaySums,
  all: Groups,
): number | null {
  const { by, thenBy } = query
  if (by === 'day' && thenBy === null) {
    all.add(total, day, '')
    return 1
  }
  if (groups === null) return null
  const wanted = wantedOf(query)
  if (by === 'day' && wanted !== null) return addWanted(day, wanted, groups, all)
  for (const [name, group] of groups) {
    // The day may be its first name, or its second.
    const [first, second] =
      by === 'day' ? [day, group.first] : [group.first, thenBy === 'day' ? day : group.second]
    if (wanted !== null && !wanted.has(second)) continue
    all.add(group, first, second, by === 'day' || thenBy === 'day' ? undefined : name)
  }
  return groups.size
}

/** Of many groups the few that are wanted. */
function addWanted(
  day: Day,
  wanted: Wanted,
  groups: NonNullable<DaySums['groups']>,
  all: Groups,
): number {
  for (const name of wanted) {
    const group = groups.get(nameOf({ first: name, second: '' }))
    if (group !== undefined) all.add(group, day, group.first)
  }
  return wanted.size
}

type Wanted = ReadonlySet<string | number>

/** The second names of the groups that are wanted; null where all are. */
const wantedOf = ({ among }: UsageQuery): Wanted | null =>
  among === undefined ? null : new Set(among.map((name) => name ?? ''))

type Bounds = {
  readonly from: string
  readonly below: string
  readonly since: number
  readonly until: number
  readonly account: string | null
  readonly maker: string | null
}

/** Slice by slice. */
async function addLog(database: Database, query: UsageQuery, groups: Groups): Promise<void> {
  const lines = statement<Line, [Bounds]>(
    database,
    `${lineOf(query)} AND admitted_at < $until AND generation_id >= $from AND generation_id < $below`,
  )
  const { since, until, accountId: account = null, madeBy: maker = null } = query
  const within = { since: since ?? 0, until: until ?? Number.MAX_SAFE_INTEGER, account, maker }
  const arrived = arrivedIn({
    ...(since !== undefined && { since: later(since, -MAX_QUEUED_MS) }),
    ...(until !== undefined && { until }),
  })
  const wanted = wantedOf(query)
  for await (const slice of slices(database, 'activity', arrived)) {
    for (const line of lines().iterate({ ...within, ...slice })) {
      if (wanted === null || wanted.has(line.second)) groups.addLine(line)
    }
    await groups.spillIfMany()
  }
}
