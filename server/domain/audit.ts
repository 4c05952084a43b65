/** The audit: recomputes every stored sum from the ledger. Any difference is a defect, never a rounding error. */
import type { Day, Instant } from './clock.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { BalanceAudit } from './ledger.ts'
import type { UsdNanos } from './money.ts'

/**
 * The stored sums: an account's balance, a key's spend on a UTC day, and that of each of its end users. `live_…` are the
 * in-memory sums of the serving process: balance, day, and month (the sum of its days).
 */
export type KeptSum =
  | 'balance'
  | 'key_day'
  | 'end_user_day'
  | 'live_balance'
  | 'live_key_day'
  | 'live_key_month'

export type AuditFinding =
  /** A sum that differs from that of the ledger. */
  | {
      readonly what: KeptSum
      readonly subject: AccountId | KeyId
      /** The first day of a month for a monthly sum; null for a balance. */
      readonly day: Day | null
      readonly endUser: string | null
      readonly kept: UsdNanos
      readonly ledger: UsdNanos
    }
  /** A key has more charges than requests on a day. */
  | {
      readonly what: 'requests'
      readonly subject: AccountId | KeyId
      readonly day: Day | null
      readonly endUser: string | null
      readonly requests: number
      readonly charges: number
    }
  /** A hold without a request in progress, one missing from the table, one already charged, or a wrong sum of holds. */
  | {
      readonly what: 'hold'
      readonly subject: GenerationId | AccountId | KeyId
      readonly fault: 'nobody_runs' | 'not_kept' | 'charged' | 'sum'
    }

/** A charge above what was held for its request, because the provider ignored the bound of the answer. It is no difference. */
export interface BeyondHold {
  readonly generationId: GenerationId
  readonly cost: UsdNanos
  readonly hold: UsdNanos
}

export interface Audit {
  /** When the snapshot that it was computed from was taken. */
  readonly at: Instant
  readonly entries: number
  /** One per account, oldest first. */
  readonly balances: readonly BalanceAudit[]
  readonly keyDays: number
  readonly endUserDays: number
  readonly openHolds: number
  /** The first `MAX_FINDINGS`. */
  readonly findings: readonly AuditFinding[]
  /** The number of findings in all. */
  readonly found: number
  /** The number of charges beyond their hold, as far as the log goes back. */
  readonly beyondHold: number
  /** The latest of them, `MAX_BEYOND_HOLD` at most. */
  readonly latestBeyondHold: readonly BeyondHold[]
}

export const MAX_FINDINGS = 1_000
export const MAX_BEYOND_HOLD = 10
