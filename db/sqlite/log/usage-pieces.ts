/** Sums of the days, and of the last day's hours, that are over: each is added up when it is first asked for, and a report of a month then reads its last hour or two alone. */
import { DAY_MS, HOUR_MS, type Instant, instant, later, MINUTE_MS } from '#domain/clock.ts'
import type { UsageQuery } from '#domain/usage-report.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import type { Group } from './usage-groups.ts'

/** A time is over so long after its last instant, and once no request that it admitted is in progress. */
const OVER_MS = HOUR_MS
/** Some tens of megabytes; what is not kept is added up again. */
const MAX_GROUPS = 100_000
/** Of all names together. */
const MAX_PIECES = 10_000
/** The clock was corrected if it and the steady one are apart by more than they were. */
const CORRECTED_MS = MINUTE_MS

/** By names alone, never by time; null for a piece that has too many to be kept. */
type Kept = readonly Readonly<Group>[] | null

/** A day, or an hour. */
export interface Piece {
  readonly since: Instant
  readonly until: Instant
}

export interface UsagePieces {
  /** The pieces between two instants that are over, and whole in the log, one behind the other. */
  overWithin(from: Instant, below: Instant): readonly Piece[]
  /** What is kept of the piece under this name, else what `add` makes of it. */
  of(name: string, piece: Piece, add: () => Promise<Kept>): Promise<Kept>
}

export function openUsagePieces({ database, clock }: Connection): UsagePieces {
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
      if (groups <= MAX_GROUPS && kept.size <= MAX_PIECES) break
      drop(oldest)
    }
  }
  /** While the clock was wrong, requests may have been noted on times that were over. */
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
      return cut(instant(since), instant(open))
    },
    async of(name, { since, until }, add) {
      const place = `${since} ${until} ${name}`
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

/** Into whole days where they fit, else whole hours. */
function cut(from: Instant, below: Instant): readonly Piece[] {
  const pieces: Piece[] = []
  let since = instant(Math.ceil(from / HOUR_MS) * HOUR_MS)
  for (;;) {
    const isDay = since % DAY_MS === 0 && since + DAY_MS <= below
    const until = later(since, isDay ? DAY_MS : HOUR_MS)
    if (until > below) return pieces
    pieces.push({ since, until })
    since = until
  }
}

/** The names that a report is grouped by, whichever time splits them; null where an hour does. */
export function namesOf({ by, thenBy }: UsageQuery) {
  if (by === 'hour' || thenBy === 'hour') return null
  return [by, thenBy].filter((name) => name !== null && name !== 'day')
}
