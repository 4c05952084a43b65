/** The receipt of a request: what was counted and at which price, who was asked, how long it took, how it ended (contract §7). */
import { type ActivityEntry, type EndedBy, operatorCost } from './activity.ts'
import type { Instant } from './clock.ts'
import { driftUsd } from './drift.ts'
import type { PriceVersionId } from './id.ts'
import type { LedgerEntry } from './ledger.ts'
import type { PriceVersion } from './model-card.ts'
import { NO_MONEY, negateUsd, type RubPerUsd, type UsdNanos } from './money.ts'
import { ANY_IMAGE, type ChargeLine, chargeLines } from './pricing.ts'
import type { Store } from './store.ts'
import type { FailureKind } from './upstream.ts'

export interface ReceiptAttempt {
  readonly model: string
  readonly provider: string
  /** How it failed; or it `answered`, was `left` by the client, or `stopped` by the gateway. */
  readonly outcome: FailureKind | 'answered' | 'left' | 'stopped'
  /** The provider's own, where it failed with one. */
  readonly status: number | null
  /** Why it failed, in the provider's own words. */
  readonly reason: string | null
  /** Of the last one: since the one before it had failed, a pause between them included. */
  readonly ms: number
  /** What it cost the operator although nobody was charged for it. */
  readonly operatorCost: UsdNanos
}

export interface Receipt {
  readonly entry: ActivityEntry
  readonly keyName: string
  /** Exactly what the ledger says; 0 where nothing was charged. */
  readonly total: UsdNanos
  /** Null, all three, where nothing was charged. */
  readonly chargedAt: Instant | null
  readonly rubPerUsd: RubPerUsd | null
  readonly priceVersion: PriceVersionId | null
  /** Their amounts round to `total`. */
  readonly lines: readonly ChargeLine[]
  /** In order; empty when nobody was asked. */
  readonly attempts: readonly ReceiptAttempt[]
  /** Of the attempts that nobody was charged for. */
  readonly operatorCost: UsdNanos
  /** What the provider stated beyond what was charged; null where it stated nothing or nothing was charged. */
  readonly statedDifference: UsdNanos | null
}

export interface ReceiptSources {
  readonly entry: ActivityEntry
  readonly keyName: string
  readonly charge: LedgerEntry | undefined
  /** The one that the charge names. */
  readonly version: PriceVersion | undefined
}

/** Puts together what the log, the ledger and the price list know of one request. */
export function toReceipt({ entry, keyName, charge, version }: ReceiptSources): Receipt {
  const total = charge ? negateUsd(charge.amount) : NO_MONEY
  const { statedCost, usage, image } = entry
  return {
    entry,
    keyName,
    total,
    chargedAt: charge?.at ?? null,
    rubPerUsd: charge?.rubPerUsd ?? null,
    priceVersion: charge?.priceVersion ?? null,
    lines: charge && version ? chargeLines(usage, version, image ?? ANY_IMAGE) : [],
    attempts: [...entry.failedAttempts, ...lastAttempt(entry, charge !== undefined)],
    operatorCost: operatorCost(entry.failedAttempts),
    statedDifference:
      charge && statedCost !== null ? driftUsd({ charged: total, stated: statedCost }) : null,
  }
}

/** Reads what belongs to one line of the log. */
export async function readReceipt(
  store: Pick<Store, 'keys' | 'ledger' | 'models'>,
  entry: ActivityEntry,
): Promise<Receipt> {
  const charge = await store.ledger.chargeOf(entry.generationId)
  const version = charge?.priceVersion ? await store.models.version(charge.priceVersion) : undefined
  const key = await store.keys.find(entry.keyId)
  return toReceipt({ entry, keyName: key?.name ?? entry.keyId, charge, version })
}

/** Neither side was said; the price list decides. */
/** How the attempt ended that did not fail. Where the upstream ended the request, the last one failed too. */
const LAST_OUTCOMES: Readonly<Record<EndedBy, ReceiptAttempt['outcome'] | null>> = {
  completed: 'answered',
  client: 'left',
  gateway: 'stopped',
  upstream: null,
  refused: null,
}

function lastAttempt(entry: ActivityEntry, isCharged: boolean): readonly ReceiptAttempt[] {
  const { model, provider, endedBy, code, failedAttempts, totalMs, queuedMs } = entry
  const outcome = LAST_OUTCOMES[endedBy]
  // Whoever leaves once a provider was asked is charged; before that nobody was asked.
  const wasAsked =
    provider !== null && (endedBy !== 'client' || isCharged) && code !== 'descriptors_exhausted'
  if (outcome === null || !wasAsked) return []
  const before = failedAttempts.reduce((sum, { ms }) => sum + ms, queuedMs)
  const ms = Math.max(0, totalMs - before)
  return [{ model, provider, outcome, status: null, reason: null, ms, operatorCost: NO_MONEY }]
}
