/** The audit: every sum that the gateway keeps is added up again from the ledger. A difference is a defect, never a rounding. */
import type { Day, Instant } from './clock.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { BalanceAudit } from './ledger.ts'
import type { UsdNanos } from './money.ts'

/**
 * What is kept: an account's balance, what a key spent on a UTC day, and what each of its end users did. `live_…` is what
 * the process that serves reckons with: balance, day, and the month, which is the sum of its days.
 */
export type KeptSum =
  | 'balance'
  | 'key_day'
  | 'end_user_day'
  | 'live_balance'
  | 'live_key_day'
  | 'live_key_month'

export type AuditFinding =
  /** A sum that is not what the ledger adds up to. */
  | {
      readonly what: KeptSum
      readonly subject: AccountId | KeyId
      /** Of a month its first; null of a balance. */
      readonly day: Day | null
      readonly endUser: string | null
      readonly kept: UsdNanos
      readonly ledger: UsdNanos
    }
  /** More charges than requests: of a key on a day. */
  | {
      readonly what: 'requests'
      readonly subject: AccountId | KeyId
      readonly day: Day | null
      readonly endUser: string | null
      readonly requests: number
      readonly charges: number
    }
  /** A hold that no request in progress has, one that is in no table, one that was charged, or sums of holds that differ. */
  | {
      readonly what: 'hold'
      readonly subject: GenerationId | AccountId | KeyId
      readonly fault: 'nobody_runs' | 'not_kept' | 'charged' | 'sum'
    }

export interface Audit {
  /** The moment that everything was read at. */
  readonly at: Instant
  readonly entries: number
  /** Of every account, oldest first. */
  readonly balances: readonly BalanceAudit[]
  readonly keyDays: number
  readonly endUserDays: number
  readonly openHolds: number
  /** The first `MOST_FINDINGS`. */
  readonly findings: readonly AuditFinding[]
  /** All of them. */
  readonly found: number
}

export const MOST_FINDINGS = 1_000
