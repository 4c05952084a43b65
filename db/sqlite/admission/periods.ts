/**
 * The day and the month that a key and its account count in, by a clock that may be set: how they turn to others, and what a step of
 * the clock does to windows and sums.
 */
import {
  type Clock,
  type Day,
  dayOf,
  elapsedMs,
  type Instant,
  monthStart,
  nextDay,
} from '#domain/clock.ts'
import type { KeyId } from '#domain/id.ts'
import { NO_MONEY } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { prepareSpendReader } from '../money/spend-reader.ts'
import { giveUpSums, type SharedUse } from './account-use.ts'
import { type EndUserState, takeDay } from './end-users.ts'
import { forgetUseMarks, type HotUse, sumHolds } from './hot-use.ts'

/** What is used of a key. */
interface KeyUse extends HotUse, EndUserState {
  readonly key: { readonly id: KeyId }
  readonly account: { readonly use: SharedUse | null }
}

export interface Periods {
  /**
   * Takes a key to the day of `at`, as the clock says it. No jump of the clock opens a ceiling twice: the sums of a day and a
   * month are read, because a corrected clock may return to where it was, and a step back to the day before stays in the day.
   * Its windows are given up where the clock was set back, because a clock that was ahead has let go of requests, where it has
   * come back to where it was, and where it jumps ahead.
   */
  turn(hot: KeyUse, at: Instant): void
  /** Takes what an account has used to the day of `at`. */
  turnAccount(use: SharedUse, at: Instant): void
  /** Reads the sums of its day and month, and returns it. */
  read<Key extends KeyUse>(hot: Key): Key
}

export function preparePeriods(connection: Connection): Periods {
  const { commit, clock } = connection
  const readSpend = prepareSpendReader(connection)

  const read = <Key extends KeyUse>(hot: Key): Key => {
    commit.flush()
    hot.hasSums = commit.writable
    const spend = readSpend(hot.key.id, hot.today, hot.thisMonth)
    const held = sumHolds(hot)
    hot.daySpend.spent = spend.day
    hot.daySpend.held = held.day
    hot.monthSpend.spent = spend.month
    hot.monthSpend.held = held.month
    forgetUseMarks(hot)
    return hot
  }

  return {
    turn(hot, at) {
      const { account } = hot
      const nowMs = momentOf(clock, at)
      noteStep(hot, at, nowMs)
      const today =
        account.use === null ? dayOf(at) : turnUse(account.use, at, nowMs, commit.writable)
      // All keys of an account that counts are on its day.
      const isOver = account.use === null ? isOtherDay(hot, today) : today !== hot.today
      if (isOver) {
        hot.today = today
        hot.thisMonth = monthStart(today)
        takeDay(hot, at, commit.writable)
      }
      if (isOver || (!hot.hasSums && commit.writable)) read(hot)
    },
    turnAccount(use, at) {
      turnUse(use, at, momentOf(clock, at), commit.writable)
    },
    read,
  }
}

/** By `Clock.monotonicMs`: a claim is judged some time after it was made. */
const momentOf = (clock: Clock, at: Instant): number =>
  clock.monotonicMs() - elapsedMs(at, clock.now())

/** A request may be this much older than the one before it, without a step of the clock. */
export const STEP_MS = 1_000

/** Gives its windows up where the log tells more than they do. `nowMs` is by `Clock.monotonicMs`. */
function noteStep(use: HotUse, at: Instant, nowMs: number): void {
  if (use.windowsEndAt !== null && at >= use.windowsEndAt) use.hasWindows = false
  // Set right to before where it was: the correction is not time that passed.
  if (elapsedMs(use.seenAt, at) - (nowMs - use.seenMs) > STEP_MS) use.hasWindows = false
  if (at < use.seenAt - STEP_MS) {
    use.setBackFrom = use.seenAt
    use.hasWindows = false
  } else if (at <= use.seenAt) return
  use.seenAt = at
  use.seenMs = nowMs
}

/** A step back to the day before stays in the day: a clock that is put right at midnight does not go to and fro. */
const isOtherDay = (use: HotUse, today: Day): boolean =>
  today !== use.today && nextDay(today) !== use.today

/** Takes an account to the day of an instant, and tells its day. */
function turnUse(use: SharedUse, at: Instant, nowMs: number, isWritable: boolean): Day {
  noteStep(use, at, nowMs)
  const today = dayOf(at)
  if (isOtherDay(use, today)) {
    const month = monthStart(today)
    const isWhole = use.hasSums && !use.lacksWrites
    // The days of a month are many rows: at midnight its sum goes on.
    const goesOn = isWhole && nextDay(use.today) === today && month === use.thisMonth
    use.today = today
    use.thisMonth = month
    use.daySpend.spent = NO_MONEY
    if (!goesOn) use.monthSpend.spent = NO_MONEY
    giveUpSums(use, goesOn)
  } else if (use.lacksWrites && isWritable) giveUpSums(use)
  return use.today
}
