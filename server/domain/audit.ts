/** The audit: recomputes every stored sum from the ledger. Any difference is a defect, never a rounding error. */
import type { Day } from './clock.ts'
import type { AccountId, GenerationId, KeyId } from './id.ts'
import type { BalanceAudit } from './ledger.ts'
import type { UsdNanos } from './money.ts'

/**
 * The stored sums: an account's balance, a key's spend on a UTC day, and that of each of its end users; and what an account was
 * charged on one for keys that are elsewhere now, less what its keys had spent elsewhere.
 */
export type KeptSum = 'balance' | 'key_day' | 'end_user_day' | 'moved_day'

export type AuditFinding =
  /** A sum that differs from that of the ledger. */
  | {
      readonly what: KeptSum
      readonly subject: AccountId | KeyId
      /** Null for a balance. */
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
  /** A hold of a request that was charged. */
  | { readonly what: 'hold'; readonly subject: GenerationId }
  | EngineFinding

/** What only the engine can find, because it is about what it keeps beside its tables, in its own words. */
export interface EngineFinding {
  readonly what: 'engine'
  /** What the engine calls it. */
  readonly engine: string
  readonly subject: GenerationId | AccountId | KeyId
  readonly message: string
  /** Where it is about a sum. */
  readonly sum: {
    /** The first day of a month for a monthly sum; null for a balance. */
    readonly day: Day | null
    readonly kept: UsdNanos
    readonly ledger: UsdNanos
  } | null
}

/** A charge above what was held for its request, because the provider counted more than it was bound to. It is no difference. */
export interface BeyondHold {
  readonly generationId: GenerationId
  readonly cost: UsdNanos
  readonly hold: UsdNanos
}

export interface Audit {
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
