/** Who is told of a ceiling, judged in the turn of a charge: a few comparisons where no mark is passed. */
import { passedMark } from '#domain/ceiling-marks.ts'
import {
  type Day,
  dayOf,
  dayStart,
  type Instant,
  nextDay,
  nextMonthStart,
  renderDay,
  renderInstant,
} from '#domain/clock.ts'
import { draftEvent, type RaisedEvent } from '#domain/event.ts'
import type { AccountId } from '#domain/id.ts'
import type { LimitName, Limits } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import type { HotKey, OpenHold } from './hot-state.ts'
import type { HotUse, MutableSpending } from './hot-use.ts'

/** What is read only once a mark is passed. */
export interface CeilingWords {
  /** The shares of a ceiling that are told. */
  percents(): readonly number[]
  accountName(id: AccountId): string
}

/** The events of the marks that this charge has passed; null for none. One that was told before is known by its subject. */
export function judgeCeilings(
  hold: OpenHold,
  hot: HotKey,
  words: CeilingWords,
  at: Instant,
): readonly RaisedEvent[] | null {
  const { use } = hold.account
  const user = userOf(hold, hot)
  const isPassed =
    isUsePassed(hot) ||
    (use !== null && isUsePassed(use)) ||
    (user !== null && isMarkPassed(user.daySpend))
  if (!isPassed) return null
  const events = [
    ...ofKey(hot, words, at),
    ...(use === null ? [] : ofAccount(hold, use, words, at)),
    ...(user === null ? [] : ofEndUser(hot, user, words, at)),
  ]
  return events.length === 0 ? null : events
}

const isMarkPassed = ({ spent, mark }: MutableSpending): boolean => spent >= mark

const isUsePassed = ({ daySpend, monthSpend }: HotUse): boolean =>
  isMarkPassed(daySpend) || isMarkPassed(monthSpend)

/** On another day its ceiling is another one. */
const userOf = ({ endUser }: OpenHold, { today }: HotKey) =>
  endUser?.day === today ? endUser : null

const ofKey = (hot: HotKey, words: CeilingWords, at: Instant): readonly RaisedEvent[] =>
  passedOf(hot, hot.key.limits, words).map((passed) =>
    draftEvent('gateway.key_ceiling', { ...keyFacts(hot), ...passed }, at),
  )

const ofAccount = (
  { account: { id, limits } }: OpenHold,
  use: HotUse,
  words: CeilingWords,
  at: Instant,
): readonly RaisedEvent[] =>
  passedOf(use, limits, words).map((passed) =>
    draftEvent(
      'gateway.account_ceiling',
      { account_id: id, account_name: words.accountName(id), ...passed },
      at,
    ),
  )

function ofEndUser(
  hot: HotKey,
  { name, daySpend }: NonNullable<OpenHold['endUser']>,
  words: CeilingWords,
  at: Instant,
): readonly RaisedEvent[] {
  const { endUserDailySpend } = hot.key.limits
  const ends = nextDay(hot.today)
  const passed = passedBy('end_user_daily_usd', daySpend, endUserDailySpend, ends, words)
  const facts = { ...keyFacts(hot), end_user: name }
  return passed.map((one) => draftEvent('gateway.end_user_ceiling', { ...facts, ...one }, at))
}

const keyFacts = ({ key }: HotKey) => ({
  account_id: key.accountId,
  key_id: key.id,
  key_name: key.name,
})

/** By the ceilings of the day and of the month. */
const passedOf = (
  { daySpend, monthSpend, today }: HotUse,
  { dailySpend, monthlySpend }: Limits,
  words: CeilingWords,
) => [
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
) {
  if (!isMarkPassed(spending)) return []
  const { percent, next } = passedMark(spending.spent, ceiling, words.percents())
  spending.mark = next
  if (percent === null || ceiling === null) return []
  const [limit_usd, used_usd] = [renderUsd(ceiling), renderUsd(spending.spent)]
  return [{ limit, limit_usd, used_usd, percent, resets_at: renderInstant(dayStart(ends)) }]
}

/** A request that cost more than its hold. */
export const chargedBeyondHold = (
  { claim, amount: held }: OpenHold,
  { provider, model }: { readonly provider: string | null; readonly model: string },
  charged: UsdNanos,
  at: Instant,
): RaisedEvent =>
  draftEvent(
    'gateway.charge_beyond_hold',
    {
      account_id: claim.accountId,
      key_id: claim.keyId,
      generation_id: claim.generationId,
      provider: provider ?? '',
      model,
      held_usd: renderUsd(held),
      charged_usd: renderUsd(charged),
      day: renderDay(dayOf(at)),
    },
    at,
  )
