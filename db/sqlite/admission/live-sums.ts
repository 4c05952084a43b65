/** A copy of the sums in the hot state, taken in one turn, for the audit to compare with the tables. */
import type { Day } from '#domain/clock.ts'
import type { AccountId, GenerationId, KeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { HotAccount, HotKey, OpenHold } from './hot-state.ts'

export interface LiveSums {
  readonly accounts: readonly {
    readonly id: AccountId
    readonly balance: UsdNanos
    readonly held: UsdNanos
  }[]
  readonly keys: readonly LiveKey[]
  readonly open: readonly {
    readonly id: GenerationId
    readonly keyId: KeyId
    readonly accountId: AccountId
    readonly amount: UsdNanos
  }[]
}

interface LiveKey {
  readonly id: KeyId
  readonly today: Day
  readonly thisMonth: Day
  readonly spentToday: UsdNanos
  readonly spentThisMonth: UsdNanos
  readonly held: UsdNanos
}

/** Bounded by the keys and accounts that are kept in memory, and by the requests in progress. */
export const copyLiveSums = (
  accounts: ReadonlyMap<AccountId, HotAccount>,
  keys: ReadonlyMap<KeyId, HotKey>,
  open: Iterable<[GenerationId, OpenHold]>,
): LiveSums => ({
  accounts: [...accounts].map(([id, { balance, held }]) => ({ id, balance, held })),
  keys: [...keys].map(([id, { today, thisMonth, daySpend, monthSpend, held }]) => ({
    id,
    today,
    thisMonth,
    spentToday: daySpend.spent,
    spentThisMonth: monthSpend.spent,
    held,
  })),
  open: [...open].map(([id, { claim, amount }]) => ({
    id,
    keyId: claim.keyId,
    accountId: claim.accountId,
    amount,
  })),
})
