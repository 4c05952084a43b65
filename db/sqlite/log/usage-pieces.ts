/** Sums of the days, and of the last day's hours, that are over: each is added up when it is first asked for, and a report of a month then reads its last hour or two alone. */
import { DAY_MS, HOUR_MS, type Instant, instant, later } from '#domain/clock.ts'
import type { UsageQuery } from '#domain/usage-report.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import type { Group } from './usage-groups.ts'

/** A time is over so long after its last instant. A line that is written of it all the same makes all be added up again. */
const OVER_MS = HOUR_MS
/** Some tens of megabytes; what is not kept is added up again. */
const MAX_GROUPS = 100_000
/** Of all names together. */
const MAX_PIECES = 10_000

/** By names alone, never by time; null for a piece that has too many to be kept. */
type Kept = readonly Readonly<Group>[] | null

/** A day, or an hour. */
export interface Piece {
  readonly since: Instant
  readonly until: Instant
}

export interface UsagePieces {
  /** The pieces between two instants that are over, and whole in the log, one behind the other. Before the log is read. */
  overWithin(from: Instant, below: Instant): readonly Piece[]
  /** What is kept of the piece under this name, else what `add` makes of it. */
  of(name: string, piece: Piece, add: () => Promise<Kept>): Promise<Kept>
}

export function openUsagePieces({
  database,
  clock,
  timesOver,
}: Pick<Connection, 'database' | 'clock' | 'timesOver'>): UsagePieces {
  /** Least lately used first. */
  const kept = new Map<string, Kept>()
  const running = new Map<string, Promise<Kept>>()
  let groups = 0
  /** As it was set here: it is lower once a line was written of a time before. */
  let below = timesOver.below
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
  const forgetIfLate = (): void => {
    if (timesOver.below === below) return
    for (const name of kept.keys()) drop(name)
    running.clear()
    below = timesOver.below
  }

  return {
    overWithin(from, end) {
      forgetIfLate()
      const since = Math.max(from, keptSince().get()?.since ?? 0)
      const pieces = cut(instant(since), instant(Math.min(end, clock.now() - OVER_MS)))
      below = Math.max(below, pieces.at(-1)?.until ?? below)
      timesOver.below = below
      return pieces
    },
    async of(name, { since, until }, add) {
      forgetIfLate()
      const place = `${since} ${until} ${name}`
      const known = kept.get(place)
      if (known !== undefined) {
        keep(place, known)
        return known
      }
      const before = running.get(place)
      if (before !== undefined) return await before
      const adding = add()
      running.set(place, adding)
      try {
        const sums = await adding
        forgetIfLate()
        // Else it was added up before a line that came late.
        if (running.get(place) === adding) keep(place, sums)
        return sums
      } finally {
        if (running.get(place) === adding) running.delete(place)
      }
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
