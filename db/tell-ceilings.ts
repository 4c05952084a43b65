/** A ceiling that is reached by a change of it, or of what counts in it, is told after that change: no charge comes to tell of it. */
import type { Account, Accounts } from '#domain/account.ts'
import { passedMark } from '#domain/ceiling-marks.ts'
import {
  type Clock,
  type Day,
  dayOf,
  type Instant,
  nextDay,
  nextMonthStart,
} from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import type { AccountId } from '#domain/id.ts'
import type { ApiKey, Keys } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Store } from '#domain/store.ts'
import { ceilingOfAccount, ceilingOfKey, type PassedCeiling } from './rows/mark-events.ts'

type Ports = Pick<Store, 'keys' | 'accounts' | 'admissions' | 'events' | 'noticeSettings'>

/** Their changes, which tell. What was told before is known by its subject. */
export function tellCeilings(
  { keys, accounts, admissions, events, noticeSettings }: Ports,
  clock: Clock,
): { readonly keys: Keys; readonly accounts: Accounts } {
  const tell = async (
    limits: Limits,
    read: (at: Instant) => Promise<Spent | undefined>,
    draft: (passed: PassedCeiling, at: Instant) => RaisedEvent,
  ): Promise<void> => {
    if (limits.dailySpend === null && limits.monthlySpend === null) return
    const { ceilingPercents } = await noticeSettings.find()
    const at = clock.now()
    const spent = await read(at)
    if (spent === undefined) return
    for (const passed of passedOf(limits, spent, ceilingPercents, dayOf(at))) {
      await events.raise(draft(passed, at), null)
    }
  }
  const tellOfKey = (key: ApiKey): Promise<void> =>
    tell(
      key.limits,
      async (at) => (await admissions.spending([key.id], at))[0],
      (passed, at) => ceilingOfKey(key, passed, at),
    )
  const tellOfAccount = ({ id, name, limits }: Account): Promise<void> =>
    tell(
      limits,
      async (at) => (await admissions.accountUse([id], at))[0],
      (passed, at) => ceilingOfAccount(id, name, passed, at),
    )
  const tellOf = async (id: AccountId): Promise<void> => {
    const account = await accounts.find(id)
    if (account !== undefined) await tellOfAccount(account)
  }
  return {
    keys: {
      ...keys,
      async amend(id, amendment, act) {
        const amended = await keys.amend(id, amendment, act)
        if (amendment.limits !== undefined) await tellOfKey(amended.after)
        return amended
      },
      async move(id, accountId, act) {
        const moved = await keys.move(id, accountId, act)
        await tellOf(accountId)
        return moved
      },
    },
    accounts: {
      ...accounts,
      async amend(id, amendment, act) {
        const amended = await accounts.amend(id, amendment, act)
        if (amendment.limits !== undefined) await tellOfAccount(amended.after)
        return amended
      },
    },
  }
}

interface Spent {
  readonly spendDay: UsdNanos | null
  readonly spendMonth: UsdNanos | null
}

function passedOf(
  { dailySpend, monthlySpend }: Limits,
  { spendDay, spendMonth }: Spent,
  percents: readonly number[],
  today: Day,
): readonly PassedCeiling[] {
  const ceilings = [
    ['daily_spend_limit_usd', dailySpend, spendDay ?? NO_MONEY, nextDay(today)],
    ['monthly_spend_limit_usd', monthlySpend, spendMonth ?? NO_MONEY, nextMonthStart(today)],
  ] as const
  return ceilings.flatMap(([limit, ceiling, spent, ends]) => {
    const { percent } = passedMark(spent, ceiling, percents)
    return percent === null || ceiling === null ? [] : [{ limit, ceiling, spent, percent, ends }]
  })
}
