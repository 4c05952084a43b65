/** An account as its row and as the domain's noun. */
import type { Account } from '#domain/account.ts'
import type { Instant } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { fromInteger } from './amount.ts'
import { toLimits } from './limits-column.ts'

export interface AccountRow {
  readonly id: AccountId
  readonly name: string
  readonly created_at: Instant
  readonly balance_nanos: number
  readonly member_daily_nanos: number | null
  readonly limits: string
  readonly closed_at: Instant | null
}

export const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at,
  balance: fromInteger<UsdNanos>(row.balance_nanos),
  memberDaily:
    row.member_daily_nanos === null ? null : fromInteger<UsdNanos>(row.member_daily_nanos),
  limits: toLimits(row.limits),
  closedAt: row.closed_at,
})
