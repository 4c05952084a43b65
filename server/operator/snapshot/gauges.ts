/** How much of each limit of a key or an account is used. */
import type { Instant } from '#domain/clock.ts'
import type { Limits } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import { boundsOf, type Period } from '#domain/snapshot/pace.ts'
import type { WindowReading, WindowReadings } from '#domain/window.ts'
import type { GaugeRecord, GaugesRecord, Level, SpendGaugeRecord } from './record.ts'
import { oneDecimal } from './traffic.ts'

const NEAR_PERCENT = 90

export interface Used extends WindowReadings {
  readonly requestsInProgress: number
  readonly spendDay: UsdNanos
  readonly spendMonth: UsdNanos
}

/** Without a limit there is no window: the last minute is known from recent requests, a day would need a log scan. */
export const readGauges = (
  { concurrency, dailySpend, monthlySpend }: Limits,
  used: Used,
  lastMinute: number | null,
  now: Instant,
): GaugesRecord => ({
  minute: toWindowGauge(used.minute, lastMinute),
  day: toWindowGauge(used.day, null),
  tokens: toWindowGauge(used.tokens, null),
  concurrency: toGauge(used.requestsInProgress, concurrency, null),
  spend_day: toSpendGauge('day', used.spendDay, dailySpend, now),
  spend_month: toSpendGauge('month', used.spendMonth, monthlySpend, now),
})

const toWindowGauge = (reading: WindowReading | null, used: number | null): GaugeRecord =>
  reading === null
    ? toGauge(used, null, null)
    : toGauge(reading.limit - reading.remaining, reading.limit, reading.resetSeconds)

function toGauge(used: number | null, limit: number | null, freesIn: number | null): GaugeRecord {
  const percent = limit === null || used === null ? null : oneDecimal((100 * used) / limit)
  return {
    used,
    limit,
    percent,
    level: levelOf(percent),
    frees_in_seconds: used === 0 ? null : freesIn,
  }
}

function toSpendGauge(
  period: Period,
  spent: UsdNanos,
  ceiling: UsdNanos | null,
  now: Instant,
): SpendGaugeRecord {
  const percent = percentOf(spent, ceiling)
  return {
    spent_usd: renderUsd(spent),
    limit_usd: renderUsd(ceiling),
    percent,
    level: levelOf(percent),
    resets_in_seconds: Math.ceil((boundsOf(period, now).resetsAt - now) / 1000),
  }
}

/** To one decimal place; null without a ceiling. */
export const percentOf = (spent: UsdNanos, ceiling: UsdNanos | null): number | null =>
  ceiling === null || ceiling <= 0n ? null : oneDecimal(Number((spent * 10_000n) / ceiling) / 100)

const levelOf = (percent: number | null): Level =>
  percent === null || percent < NEAR_PERCENT ? 'ok' : percent < 100 ? 'near' : 'full'
