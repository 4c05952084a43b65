/** The ledger: every movement of an account's money, once. The balance always equals their sum. */
import type { Act } from './act.ts'
import type { Day, Instant } from './clock.ts'
import type { AccountId, EntryId, GenerationId, KeyId, PriceVersionId } from './id.ts'
import type { RubMicros, RubPerUsd, UsdAttos, UsdNanos } from './money.ts'
import type { Usage } from './usage.ts'

/** Whether the token counts of a charge are the provider's own or our estimate. */
export type UsageSource = 'provider' | 'estimated'

/** What one request costs: rounded once, stamped with the rate and the price version it used (contract §1). */
export interface Charge {
  readonly amount: UsdNanos
  readonly rubPerUsd: RubPerUsd
  readonly costRub: RubMicros
  readonly priceVersion: PriceVersionId
  readonly usage: Usage
  /** Names of the modifiers in the price. */
  readonly modifiers: readonly string[]
  readonly source: UsageSource
  /** Unrounded; their sum rounds to `amount`. */
  readonly parts: {
    readonly prompt: UsdAttos
    readonly completion: UsdAttos
    readonly images: UsdAttos
    /** Calls of the vendor's tools. */
    readonly tools: UsdAttos
  }
}

export const ENTRY_KINDS = ['charge', 'top_up', 'adjust', 'refund'] as const
export type EntryKind = (typeof ENTRY_KINDS)[number]

export interface LedgerEntry {
  readonly id: EntryId
  readonly accountId: AccountId
  readonly kind: EntryKind
  /** Signed: a charge is negative. */
  readonly amount: UsdNanos
  readonly at: Instant
  /** Set on a charge. */
  readonly keyId: KeyId | null
  readonly generationId: GenerationId | null
  /** The UTC day whose ceilings it counted against, that of admission. */
  readonly day: Day | null
  /** As counted on that day: empty for those counted together (`REST_OF_END_USERS`), null where the request named none. */
  readonly endUser: string | null
  readonly rubPerUsd: RubPerUsd
  readonly priceVersion: PriceVersionId | null
  readonly note: string | null
  /** The operator's own reference; unique where set, so that a repeated top-up is applied once. */
  readonly ref: string | null
}

export interface LedgerQuery {
  readonly accountId?: AccountId
  readonly keyId?: KeyId
  readonly kind?: EntryKind
  /** The one entry with this reference. */
  readonly ref?: string
  readonly since?: Instant
  readonly until?: Instant
  /** Only entries older than this one: the last of the page before. */
  readonly before?: EntryId
  readonly limit: number
}

/** The sum of an account's ledger entries beside its stored balance; a difference is a defect. */
export interface BalanceAudit {
  readonly accountId: AccountId
  readonly accountName: string
  readonly balance: UsdNanos
  readonly ledgerSum: UsdNanos
}

/** Port: credits and the reading side of the ledger; charges come in through `Admissions.settle`. */
export interface Ledger {
  /**
   * Changes the balance and writes the entry in one transaction, durable before it resolves. Returns the new balance.
   * @throws account_not_found, already_exists (the same `ref` again)
   */
  credit(entry: LedgerEntry, act: Act): Promise<UsdNanos>
  /** Newest first. */
  list(query: LedgerQuery): Promise<readonly LedgerEntry[]>
  /** How many entries match. */
  count(query: Omit<LedgerQuery, 'limit'>): Promise<number>
  /** What a generation was charged; undefined where it was charged nothing. */
  chargeOf(id: GenerationId): Promise<LedgerEntry | undefined>
}
