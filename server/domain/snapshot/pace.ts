/** Pace: how long a balance will last, and whether a ceiling will be reached before its period ends. */
import type { AccountDaySpend } from '../admission.ts'
import {
  DAY_MS,
  type Day,
  dayOf,
  dayStart,
  type Instant,
  instant,
  monthStart,
  nextDay,
  nextMonthStart,
} from '../clock.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '../money.ts'

const RUNWAY_DAYS = 7

export interface Runway {
  /** How long the balance lasts at `meanDay`; null if nothing is spent. */
  readonly ms: number | null
  /** The mean of the last full days, 7 at most; today's extrapolated spend while there are fewer than 2. */
  readonly meanDay: UsdNanos
  readonly days: number
}

type Spends = readonly Pick<AccountDaySpend, 'day' | 'spent'>[]

/** `spends`: one account's, oldest first, reaching back more than a week. */
export function toRunway(balance: UsdNanos, spends: Spends, now: Instant): Runway {
  const today = dayOf(now)
  const firstDay = spends[0]?.day ?? today
  const days = Math.min(RUNWAY_DAYS, today - firstDay)
  const isShort = days < 2
  const meanDay = isShort ? todaysPace(spends, now) : meanOf(spends, today, days)
  const ms =
    meanDay <= NO_MONEY
      ? null
      : balance <= NO_MONEY
        ? 0
        : Number((balance * BigInt(DAY_MS)) / meanDay)
  return { ms, meanDay, days: isShort ? 0 : days }
}

const meanOf = (spends: Spends, today: Day, days: number): UsdNanos =>
  (spends
    .filter(({ day }) => day < today && day >= today - days)
    .reduce((sum, { spent }) => addUsd(sum, spent), NO_MONEY) / BigInt(days)) as UsdNanos

/** Today's spend extrapolated to the whole day; the first hour counts as a full hour. */
function todaysPace(spends: Spends, now: Instant): UsdNanos {
  const today = dayOf(now)
  const spent = spends.find(({ day }) => day === today)?.spent ?? NO_MONEY
  const elapsedMs = Math.max(DAY_MS / 24, now - dayStart(today))
  return ((spent * BigInt(DAY_MS)) / BigInt(elapsedMs)) as UsdNanos
}

export type Period = 'day' | 'month'

/** A warning about a ceiling: half spent and on course to exceed it, 80 % spent, or fully spent. */
export interface PaceWarning {
  readonly period: Period
  readonly level: 50 | 80 | 100
  readonly spent: UsdNanos
  readonly ceiling: UsdNanos
  /** When it will be reached at the current pace; null if already reached, or if the period ends first. */
  readonly reachedAt: Instant | null
  readonly resetsAt: Instant
}

/** Null without a warning; at 50 %, a warning is given only if the ceiling would be reached before the period ends. */
export function judgePace(
  period: Period,
  spent: UsdNanos,
  ceiling: UsdNanos | null,
  now: Instant,
): PaceWarning | null {
  if (ceiling === null || ceiling <= NO_MONEY) return null
  const { startsAt, resetsAt } = boundsOf(period, now)
  if (spent >= ceiling) return { period, level: 100, spent, ceiling, reachedAt: null, resetsAt }
  const percent = Number((spent * 100n) / ceiling)
  if (percent < 50) return null
  const elapsedMs = Math.max(1, now - startsAt)
  const reached = instant(startsAt + Number((ceiling * BigInt(Math.round(elapsedMs))) / spent))
  const reachedAt = reached < resetsAt ? reached : null
  if (percent >= 80) return { period, level: 80, spent, ceiling, reachedAt, resetsAt }
  return reachedAt === null ? null : { period, level: 50, spent, ceiling, reachedAt, resetsAt }
}

export function boundsOf(period: Period, now: Instant) {
  const today = dayOf(now)
  return period === 'day'
    ? { startsAt: dayStart(today), resetsAt: dayStart(nextDay(today)) }
    : { startsAt: dayStart(monthStart(today)), resetsAt: dayStart(nextMonthStart(today)) }
}
