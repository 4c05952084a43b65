/** Sums of the days that are over: one is added up when it is first asked for, and a report of a month then reads its last day alone. */
import { DAY_MS, type Day, dayOf, HOUR_MS, type Instant, MINUTE_MS } from '#domain/clock.ts'
import type { UsageQuery } from '#domain/usage-report.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import type { Group } from './usage-groups.ts'

/** A day is over so long after its last instant, and once no request that it admitted is in progress. */
const OVER_MS = HOUR_MS
/** Some tens of megabytes; what is not kept is added up again. */
const MAX_GROUPS = 100_000
/** Of all names together. */
const MAX_DAYS = 10_000
/** The clock was corrected if it and the steady one are apart by more than they were. */
const CORRECTED_MS = MINUTE_MS

/** By names alone, never by time. */
export type DayGroups = readonly Readonly<Group>[]

/** Null for a day that has too many to be kept. */
type Kept = DayGroups | null

export interface UsageDays {
  /** The days from one on and before another that are over, and whole in the log; null for none. */
  overWithin(from: Instant, below: Instant): { readonly first: Day; readonly end: Day } | null
  /** What is kept of the day under this name, else what `add` makes of it. */
  of(name: string, day: Day, add: () => Promise<Kept>): Promise<Kept>
}

export function openUsageDays({ database, clock }: Connection): UsageDays {
  /** Least lately used first. */
  const kept = new Map<string, Kept>()
  const running = new Map<string, Promise<Kept>>()
  let groups = 0
  let skewMs = clock.now() - clock.monotonicMs()
  const oldestHold = statement<{ at: Instant | null }, []>(
    database,
    'SELECT min(admitted_at) AS at FROM holds',
  )
  const keptSince = statement<{ since: Instant }, []>(
    database,
    "SELECT since FROM kept_since WHERE log = 'activity'",
  )

  const drop = (name: string): void => {
    groups -= kept.get(name)?.length ?? 0
    kept.delete(name)
  }
  const keep = (name: string, sums: Kept): void => {
    drop(name)
    kept.set(name, sums)
    groups += sums?.length ?? 0
    for (const oldest of kept.keys()) {
      if (groups <= MAX_GROUPS && kept.size <= MAX_DAYS) break
      drop(oldest)
    }
  }
  /** While the clock was wrong, requests may have been noted on days that were over. */
  const forgetIfCorrected = (at: Instant): void => {
    const skew = at - clock.monotonicMs()
    if (Math.abs(skew - skewMs) > CORRECTED_MS) for (const name of kept.keys()) drop(name)
    skewMs = skew
  }

  return {
    overWithin(from, below) {
      const at = clock.now()
      forgetIfCorrected(at)
      const since = Math.max(from, keptSince().get()?.since ?? 0)
      const open = Math.min(below, at - OVER_MS, oldestHold().get()?.at ?? below)
      const [first, end] = [Math.ceil(since / DAY_MS) as Day, dayOf(open as Instant)]
      return first < end ? { first, end } : null
    },
    async of(name, day, add) {
      const place = `${day} ${name}`
      const known = kept.get(place)
      if (known !== undefined) {
        keep(place, known)
        return known
      }
      let adding = running.get(place)
      if (adding === undefined) {
        adding = add().finally(() => running.delete(place))
        running.set(place, adding)
      }
      const sums = await adding
      keep(place, sums)
      return sums
    },
  }
}

/** The names that a report is grouped by, whichever time splits them; null where an hour does. */
export function namesOf({ by, thenBy }: UsageQuery) {
  if (by === 'hour' || thenBy === 'hour') return null
  return [by, thenBy].filter((name) => name !== null && name !== 'day')
}
