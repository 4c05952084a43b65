/** Who is told of a ceiling, in the turn of the charge that has passed a mark of it. */
import { passedMark } from '#domain/ceiling-marks.ts'
import { type Day, type Instant, nextDay, nextMonthStart } from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import type { AccountId } from '#domain/id.ts'
import type { LimitName, Limits } from '#domain/limits.ts'
import type { UsdNanos } from '#domain/money.ts'
import {
  ceilingOfAccount,
  ceilingOfEndUser,
  ceilingOfKey,
  type PassedCeiling,
} from '../../rows/mark-events.ts'
import type { HotKey, OpenHold } from './hot-state.ts'
import { type HotUse, isMarkPassed, type MutableSpending } from './hot-use.ts'

/** What is read only once a mark is passed. */
export interface CeilingWords {
  /** The shares of a ceiling that are told. */
  percents(): readonly number[]
  accountName(id: AccountId): string
}

/** The events of the marks that this charge has passed. One that was told before is known by its subject. */
export function ceilingEvents(
  hold: OpenHold,
  hot: HotKey,
  words: CeilingWords,
  at: Instant,
): readonly RaisedEvent[] {
  const { account, endUser } = hold
  return [
    ...ofKey(hot, words, at),
    ...(account.use === null ? [] : ofAccount(hold, account.use, words, at)),
    ...(endUser?.day === hot.today ? ofEndUser(hot, endUser, words, at) : []),
  ]
}

const ofKey = (hot: HotKey, words: CeilingWords, at: Instant): readonly RaisedEvent[] =>
  passedOf(hot, hot.key.limits, words).map((passed) => ceilingOfKey(hot.key, passed, at))

const ofAccount = (
  { account: { id, limits } }: OpenHold,
  use: HotUse,
  words: CeilingWords,
  at: Instant,
): readonly RaisedEvent[] =>
  passedOf(use, limits, words).map((passed) =>
    ceilingOfAccount(id, words.accountName(id), passed, at),
  )

function ofEndUser(
  { key, today }: HotKey,
  { name, daySpend }: NonNullable<OpenHold['endUser']>,
  words: CeilingWords,
  at: Instant,
): readonly RaisedEvent[] {
  const ceiling = key.limits.endUserDailySpend
  const passed = passedBy('end_user_daily_usd', daySpend, ceiling, nextDay(today), words)
  return passed.map((one) => ceilingOfEndUser(key, name, one, at))
}

/** By the ceilings of the day and of the month. */
const passedOf = (
  { daySpend, monthSpend, today }: HotUse,
  { dailySpend, monthlySpend }: Limits,
  words: CeilingWords,
): readonly PassedCeiling[] => [
  ...passedBy('daily_spend_limit_usd', daySpend, dailySpend, nextDay(today), words),
  ...passedBy('monthly_spend_limit_usd', monthSpend, monthlySpend, nextMonthStart(today), words),
]

/** The mark moves to the next one. */
function passedBy(
  limit: LimitName,
  spending: MutableSpending,
  ceiling: UsdNanos | null,
  ends: Day,
  words: CeilingWords,
): readonly PassedCeiling[] {
  if (!isMarkPassed(spending)) return []
  const { spent } = spending
  const { percent, next } = passedMark(spent, ceiling, words.percents())
  spending.mark = next
  return percent === null || ceiling === null ? [] : [{ limit, ceiling, spent, percent, ends }]
}
