/** The UTC day and month of a key, with what it spent and holds in them; all of it can be read again. */
import { dayOf, type Instant, monthStart, nextDay } from '#domain/clock.ts'
import type { GenerationId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareSpendReader } from '../money/spend-reader.ts'
import { takeDay } from './end-users.ts'
import type { HotKey, OpenHold } from './hot-state.ts'

/** A request may be this much older than the one before it, without a step of the clock. */
const STEP_MS = 1_000

export interface Periods {
  /**
   * Takes a key to the day of `at`. Its sums are read, because a corrected clock may return to a day. A step back of less
   * than a day stays in the day. Its windows are given up where the clock was set back, because a clock that was ahead has let
   * go of requests, and where it has come back to where it was.
   */
  turn(hot: HotKey, at: Instant): void
  /** Reads the sums of its day and month, and returns it. */
  read(hot: HotKey): HotKey
}

export function preparePeriods(
  connection: Connection,
  open: Iterable<[GenerationId, OpenHold]>,
): Periods {
  const { commit } = connection
  const readSpend = prepareSpendReader(connection)

  const read = (hot: HotKey): HotKey => {
    commit.flush()
    hot.hasSums = commit.writable
    const spend = readSpend(hot.key.id, hot.today, hot.thisMonth)
    const held = sumHolds(open, hot)
    hot.daySpend.spent = spend.day
    hot.daySpend.held = held.day
    hot.monthSpend.spent = spend.month
    hot.monthSpend.held = held.month
    return hot
  }

  return {
    turn(hot, at) {
      noteStep(hot, at)
      const today = dayOf(at)
      const isOver = today !== hot.today && nextDay(today) !== hot.today
      if (isOver) {
        hot.today = today
        hot.thisMonth = monthStart(today)
        takeDay(hot, at, commit.writable)
      }
      if (isOver || (!hot.hasSums && commit.writable)) read(hot)
    },
    read,
  }
}

/** Gives its windows up where the log tells more than they do. */
function noteStep(hot: HotKey, at: Instant): void {
  if (hot.windowsEndAt !== null && at >= hot.windowsEndAt) hot.hasWindows = false
  if (at < hot.seenAt - STEP_MS) {
    hot.setBackFrom = hot.seenAt
    hot.hasWindows = false
  } else if (at <= hot.seenAt) return
  hot.seenAt = at
}

/** What the requests of a key that are in progress hold of its day and of its month. */
function sumHolds(
  open: Iterable<[GenerationId, OpenHold]>,
  { key, inProgress, today, thisMonth }: HotKey,
): { readonly day: UsdNanos; readonly month: UsdNanos } {
  let day = NO_MONEY
  let month = NO_MONEY
  if (inProgress === 0) return { day, month }
  for (const [, hold] of open) {
    if (hold.claim.keyId !== key.id) continue
    if (hold.day === today) day = addUsd(day, hold.amount)
    if (hold.month === thisMonth) month = addUsd(month, hold.amount)
  }
  return { day, month }
}
