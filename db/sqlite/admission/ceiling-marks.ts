/** Who is told of a ceiling, judged in the turn of a charge: three comparisons where no mark is passed. */
import type { CauseFacts } from '#domain/cause.ts'
import { passedMark } from '#domain/ceiling-marks.ts'
import {
  dayOf,
  dayStart,
  type Instant,
  nextDay,
  nextMonthStart,
  renderDay,
  renderInstant,
} from '#domain/clock.ts'
import { draftEvent, type RaisedEvent } from '#domain/event.ts'
import type { LimitName } from '#domain/limits.ts'
import { renderUsd, type UsdNanos } from '#domain/money.ts'
import type { HotKey, OpenHold } from './hot-state.ts'
import type { MutableSpending } from './hot-use.ts'

/** The events of the marks that this charge has passed; null for none. One that was told before is known by its subject. */
export function judgeCeilings(
  hold: OpenHold,
  hot: HotKey,
  percents: () => readonly number[],
  at: Instant,
): readonly RaisedEvent[] | null {
  const { daySpend, monthSpend } = hot
  const user = hold.endUser?.day === hot.today ? hold.endUser.daySpend : undefined
  if (
    daySpend.spent < daySpend.mark &&
    monthSpend.spent < monthSpend.mark &&
    (user === undefined || user.spent < user.mark)
  ) {
    return null
  }
  return judgePassed(hold, hot, percents(), at)
}

function judgePassed(
  { endUser }: OpenHold,
  { key, daySpend, monthSpend, today }: HotKey,
  percents: readonly number[],
  at: Instant,
): readonly RaisedEvent[] | null {
  const events: RaisedEvent[] = []
  const passed = (limit: LimitName, spending: MutableSpending, ceiling: UsdNanos | null) => {
    if (spending.spent < spending.mark) return null
    const { percent, next } = passedMark(spending.spent, ceiling, percents)
    spending.mark = next
    if (percent === null || ceiling === null) return null
    const resets = limit === 'monthly_spend_limit_usd' ? nextMonthStart(today) : nextDay(today)
    const facts: CauseFacts['gateway.key_ceiling'] = {
      account_id: key.accountId,
      key_id: key.id,
      key_name: key.name,
      limit,
      limit_usd: renderUsd(ceiling),
      used_usd: renderUsd(spending.spent),
      percent,
      resets_at: renderInstant(dayStart(resets)),
    }
    return facts
  }
  const { dailySpend, monthlySpend, endUserDailySpend } = key.limits
  for (const facts of [
    passed('daily_spend_limit_usd', daySpend, dailySpend),
    passed('monthly_spend_limit_usd', monthSpend, monthlySpend),
  ]) {
    if (facts !== null) events.push(draftEvent('gateway.key_ceiling', facts, at))
  }
  const ofUser =
    endUser?.day !== today
      ? null
      : passed('end_user_daily_usd', endUser.daySpend, endUserDailySpend)
  if (ofUser !== null && endUser) {
    const facts = { ...ofUser, end_user: endUser.name }
    events.push(draftEvent('gateway.end_user_ceiling', facts, at))
  }
  return events.length === 0 ? null : events
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
