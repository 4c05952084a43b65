/** A ceiling that is reached by a change of it is told after that change: no charge comes to tell of it. */
import type { Account, Accounts } from '#domain/account.ts'
import { passedMark, shareOf } from '#domain/ceiling-marks.ts'
import {
  type Clock,
  type Day,
  dayOf,
  type Instant,
  nextDay,
  nextMonthStart,
} from '#domain/clock.ts'
import type { RaisedEvent } from '#domain/event.ts'
import type { KeyId } from '#domain/id.ts'
import type { ApiKey, Keys } from '#domain/key.ts'
import type { Limits } from '#domain/limits.ts'
import { NO_MONEY, type UsdNanos } from '#domain/money.ts'
import type { Store } from '#domain/store.ts'
import {
  ceilingOfAccount,
  ceilingOfEndUser,
  ceilingOfKey,
  type PassedCeiling,
} from './rows/mark-events.ts'

type Ports = Pick<Store, 'keys' | 'accounts' | 'admissions' | 'events' | 'noticeSettings'>

export interface EndUserSpend {
  readonly endUser: string
  readonly spent: UsdNanos
}

/** The end users of a key that have spent so much on a day or more, `limit` of those that have spent the most. */
export type ReadEndUsers = (
  id: KeyId,
  day: Day,
  least: UsdNanos,
  limit: number,
) => Promise<readonly EndUserSpend[]>

/** More end users of one key than these are not told of here: those below the ceiling are with their next charges. */
const MOST_END_USERS = 100

/** Their changes, which tell. What was told before is known by its subject. */
export function tellCeilings(
  { keys, accounts, admissions, events, noticeSettings }: Ports,
  clock: Clock,
  readEndUsers: ReadEndUsers,
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
  const tellOfEndUsers = async (key: ApiKey): Promise<void> => {
    const { endUserDailySpend: ceiling } = key.limits
    const { ceilingPercents } = await noticeSettings.find()
    const [first] = ceilingPercents
    if (ceiling === null || first === undefined) return
    const least = shareOf(ceiling, first)
    const at = clock.now()
    const today = dayOf(at)
    for (const { endUser, spent } of await readEndUsers(key.id, today, least, MOST_END_USERS)) {
      const { percent } = passedMark(spent, ceiling, ceilingPercents)
      // Of a ceiling of nothing, whoever has spent nothing has passed every share.
      if (percent === null || spent === 0n) continue
      const passed = { ceiling, spent, percent, ends: nextDay(today) }
      const event = { ...passed, limit: 'end_user_daily_usd' } as const
      await events.raise(ceilingOfEndUser(key, endUser, event, at), null)
    }
  }
  const tellOfAccount = ({ id, name, limits }: Account): Promise<void> =>
    tell(
      limits,
      async (at) => (await admissions.accountUse([id], at))[0],
      (passed, at) => ceilingOfAccount(id, name, passed, at),
    )
  return {
    keys: {
      ...keys,
      async amend(id, amendment, act) {
        const amended = await keys.amend(id, amendment, act)
        if (amendment.limits !== undefined) await tellOfKey(amended.after)
        const { before, after } = amended
        if (after.limits.endUserDailySpend !== before.limits.endUserDailySpend) {
          await tellOfEndUsers(after)
        }
        return amended
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
