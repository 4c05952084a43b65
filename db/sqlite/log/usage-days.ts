/**
 * Sums of days, each under the names that reports group by: added up from the log when they are first asked for, and going on with it,
 * so that whoever looks again reads only the lines that were written meanwhile.
 */
import type { Database } from 'bun:sqlite'
import { DAY_MS, type Day, dayOf, dayStart, HOUR_MS, type Instant, later } from '#domain/clock.ts'
import { generationsFrom } from '#domain/id.ts'
import type { UsageDimension } from '#domain/usage-report.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import { MAX_QUEUED_MS } from '../../rows/served-line.ts'
import type { Connection } from '../engine/connection.ts'
import type { LateLines } from '../engine/late-lines.ts'
import { openReading } from '../engine/reading.ts'
import { LOOK_ROWS } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'
import { addLine, type Group, type Line, nameOf, newGroup } from './usage-groups.ts'

/** Of a day; one that has more, of end users say, is read from the log each time. */
const MAX_DAY_GROUPS = 20_000
/** Of all days and names together: some tens of megabytes. */
const MAX_GROUPS = 200_000
/** Sets of sums; one may be of no lines at all. */
const MAX_KNOWN = 1_000

export interface DaySums {
  readonly total: Group
  /** By `nameOf`; null where they are too many to be kept. */
  groups: Map<string, Group> | null
}

/** What is added up apart from others; of no names at all, the totals of the days. */
export interface Names {
  readonly by: UsageDimension | null
  readonly thenBy: UsageDimension | null
  readonly accountId: string | undefined
  readonly madeBy: string | undefined
}

export interface UsageDays {
  /**
   * The days from this one on, up to the last line that is written; one of which there is none has no sums. Those of a day go on,
   * so whoever waits between two days has each as of when it was looked at, as where the log itself is read.
   */
  from(names: Names, since: Day): Promise<ReadonlyMap<Day, DaySums>>
}

interface Running {
  readonly names: Names
  since: Day
  readonly days: Map<Day, DaySums>
  /** The last line that was looked at. */
  at: string
  /** How many of the late lines were. */
  seen: number
  groups: number
}

type Bounds = {
  readonly since: Instant
  readonly account: string | null
  readonly maker: string | null
}

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

/** What a report adds up of a line. */
export const lineOf = ({ by, thenBy }: Pick<Names, 'by' | 'thenBy'>): string => `
  SELECT ${by === null ? "''" : DIMENSIONS[by]} AS first, ${thenBy === null ? "''" : DIMENSIONS[thenBy]} AS second,
    input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens + image_input_tokens AS prompt,
    output_tokens + image_output_tokens AS completion, output_images AS images,
    cost_nanos AS cost, cost_rub_micros AS rub, admitted_at AS at
  FROM activity
  WHERE admitted = 1 AND admitted_at >= $since
    AND ($account IS NULL OR account_id = $account)
    AND ($maker IS NULL OR key_id IN (SELECT id FROM keys WHERE made_by = $maker))`

export function openUsageDays(connection: Connection): UsageDays {
  const { database, commit, lateLines } = connection
  /** Least lately used first. */
  const known = new Map<string, Running>()
  const turns = new Map<string, Promise<unknown>>()
  /** Of what is written from now on; by what is asked for. */
  const readers = new Map<string, Reader>()

  const readerOf = ({ by, thenBy }: Names): Reader => {
    const name = `${by}/${thenBy}`
    const reader = readers.get(name) ?? prepareReader(database, { by, thenBy })
    readers.set(name, reader)
    return reader
  }

  /** Looks through some lines more; whether there may be others. Nothing is written in between. */
  const goOn = (running: Running, late: readonly string[], read: Reader): boolean => {
    const { at } = running
    const behind = late.slice(0, LOOK_ROWS).filter((id) => id <= at)
    if (behind.length > 0) addAll(running, read.these(behind, running))
    if (late.length > LOOK_ROWS) {
      running.seen += LOOK_ROWS
      return true
    }
    const { last, lines } = read.cut(at)
    if (last !== null) {
      addAll(running, read.within(at, last, running))
      running.at = last
      lateLines.watch(last)
    }
    running.seen = lateLines.end
    return lines === LOOK_ROWS
  }

  /** To the end of the log. False where some of what was written late is not known any more. */
  const catchUp = async (running: Running, read: Reader): Promise<boolean> => {
    for (;;) {
      commit.flush()
      const late = lateLines.after(running.seen)
      if (late === null) return false
      if (!goOn(running, late, read)) return true
      await idleTurn()
    }
  }

  const begin = async (name: string, names: Names, since: Day): Promise<Running> => {
    // A long look through the log leaves the pages alone that requests work on; what lives in memory has one connection.
    const isInMemory = database.filename === ':memory:'
    const reading = isInMemory ? { database, close: () => {} } : openReading(connection)
    try {
      const read = prepareReader(reading.database, names)
      for (;;) {
        const at = generationsFrom(later(dayStart(since), -MAX_QUEUED_MS))
        const days = new Map<Day, DaySums>()
        const running = { names, since, days, at, seen: lateLines.end, groups: 0 }
        known.set(name, running)
        if (await catchUp(running, read)) return running
      }
    } finally {
      reading.close()
    }
  }

  const goOnOrBegin = async (name: string, names: Names, since: Day): Promise<Running> => {
    const before = known.get(name)
    known.delete(name)
    if (before === undefined || before.since > since) return await begin(name, names, since)
    known.set(name, before)
    if (!(await catchUp(before, readerOf(names)))) return await begin(name, names, since)
    if (before.groups > MAX_GROUPS / 2) dropUntil(before, since)
    return before
  }

  const read = async (name: string, names: Names, since: Day): Promise<Map<Day, DaySums>> => {
    try {
      const { days } = await goOnOrBegin(name, names, since)
      // Whoever asks next may drop some.
      return new Map(days)
    } catch (thrown) {
      // Some lines may have been added, and nobody knows which.
      known.delete(name)
      throw thrown
    }
  }

  return {
    async from(asked, since) {
      const names = namesFor(known, asked, since)
      const name = JSON.stringify(Object.values(names))
      // One at a time under one name: the next goes on where this one ends.
      const turn = (turns.get(name) ?? Promise.resolve())
        .catch(() => {})
        .then(() => read(name, names, since))
      turns.set(name, turn)
      try {
        return await turn
      } finally {
        if (turns.get(name) === turn) turns.delete(name)
        letGo(known, turns, lateLines)
      }
    },
  }
}

/** The totals are those of any names. */
function namesFor(known: ReadonlyMap<string, Running>, names: Names, since: Day): Names {
  const { accountId, madeBy } = names
  const isTheirs = (one: Running): boolean =>
    one.since <= since && one.names.accountId === accountId && one.names.madeBy === madeBy
  return (names.by === null && known.values().find(isTheirs)?.names) || names
}

/**
 * Those that missed late lines which are not kept; those that were not used for longest, where all together are too many; and what
 * nobody asks for of the late lines.
 */
function letGo(
  known: Map<string, Running>,
  inUse: ReadonlyMap<string, unknown>,
  lateLines: LateLines,
): void {
  let groups = known.values().reduce((sum, one) => sum + one.groups, 0)
  for (const [name, running] of known) {
    const isTooMany = groups > MAX_GROUPS || known.size > MAX_KNOWN
    if (inUse.has(name) || !(isTooMany || running.seen < lateLines.forgotten)) continue
    known.delete(name)
    groups -= running.groups
  }
  lateLines.forget(known.values().reduce((least, { seen }) => Math.min(least, seen), lateLines.end))
}

type Reader = ReturnType<typeof prepareReader>

function prepareReader(database: Database, names: Pick<Names, 'by' | 'thenBy'>) {
  const cut = statement<{ last: string | null; lines: number }, [string]>(
    database,
    `SELECT max(id) AS last, count(*) AS lines FROM (
       SELECT generation_id AS id FROM activity WHERE generation_id > ? ORDER BY 1 LIMIT ${LOOK_ROWS})`,
  )
  const within = statement<Line, [Bounds & { after: string; last: string }]>(
    database,
    `${lineOf(names)} AND generation_id > $after AND generation_id <= $last`,
  )
  const these = statement<Line, [Bounds & { ids: string }]>(
    database,
    `${lineOf(names)} AND generation_id IN (SELECT value FROM json_each($ids))`,
  )
  return {
    /** The last of the next lines, and how many they are. */
    cut: (after: string) => cut().get(after) ?? { last: null, lines: 0 },
    within: (after: string, last: string, running: Running): Iterable<Line> =>
      within().iterate({ after, last, ...boundsOf(running) }),
    these: (ids: readonly string[], running: Running): Iterable<Line> =>
      these().iterate({ ids: JSON.stringify(ids), ...boundsOf(running) }),
  }
}

const boundsOf = ({ since, names: { accountId, madeBy } }: Running): Bounds => ({
  since: dayStart(since),
  account: accountId ?? null,
  maker: madeBy ?? null,
})

function addAll(running: Running, lines: Iterable<Line>): void {
  for (const line of lines) {
    const { total, groups } = sumsOf(running, dayOf(line.at))
    addLine(total, line)
    if (groups === null) continue
    const name = nameOf(line)
    let group = groups.get(name)
    if (group === undefined) {
      group = newGroup(line.first, line.second)
      groups.set(name, group)
      running.groups++
      if (groups.size > MAX_DAY_GROUPS || running.groups > MAX_GROUPS) giveUp(running, line.at)
    }
    addLine(group, line)
  }
}

function sumsOf({ days }: Running, day: Day): DaySums {
  const before = days.get(day)
  if (before !== undefined) return before
  const sums = { total: newGroup(day, ''), groups: new Map() }
  days.set(day, sums)
  return sums
}

/** Its groups are too many. */
function giveUp(running: Running, at: Instant): void {
  const sums = sumsOf(running, dayOf(at))
  running.groups -= sums.groups?.size ?? 0
  sums.groups = null
}

/** Days that nobody asks for any more. */
function dropUntil(running: Running, since: Day): void {
  running.since = since
  for (const [day, { groups }] of running.days) {
    if (day >= since) continue
    running.groups -= groups?.size ?? 0
    running.days.delete(day)
  }
}
