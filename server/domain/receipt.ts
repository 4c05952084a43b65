/** The receipt of a request: counts and prices, attempts, durations, and how it ended (contract §7). */
import { type ActivityEntry, type EndedBy, operatorCost } from './activity.ts'
import type { Instant } from './clock.ts'
import { driftUsd } from './drift.ts'
import type { PriceVersionId } from './id.ts'
import type { LedgerEntry } from './ledger.ts'
import type { PriceVersion } from './model-card.ts'
import { ANY_IMAGE } from './model-card.ts'
import { NO_MONEY, negateUsd, type RubPerUsd, type UsdNanos } from './money.ts'
import { type ChargeLine, chargeLines } from './pricing.ts'
import type { Store } from './store.ts'
import type { FailureKind } from './upstream.ts'

export interface ReceiptAttempt {
  readonly model: string
  readonly provider: string
  /** By which of the provider's several. */
  readonly credential?: string
  /** The kind of failure; or `answered`, `left` by the client, `stopped` by the gateway. */
  readonly outcome: FailureKind | 'answered' | 'left' | 'stopped'
  /** The provider's own, where it failed with one. */
  readonly status: number | null
  /** Why it failed, in the provider's own words. */
  readonly reason: string | null
  /** For the last attempt: since the failure of the previous one, including a pause between them. */
  readonly ms: number
  /** Output that the provider bills and no key was charged for. */
  readonly operatorCost: UsdNanos
}

export interface Receipt {
  readonly entry: ActivityEntry
  readonly keyName: string
  /** Exactly what the ledger says; 0 where nothing was charged. */
  readonly total: UsdNanos
  /** This and the next two are null if nothing was charged. */
  readonly chargedAt: Instant | null
  readonly rubPerUsd: RubPerUsd | null
  readonly priceVersion: PriceVersionId | null
  /** Their amounts round to `total`. */
  readonly lines: readonly ChargeLine[]
  /** In order; empty if no provider was tried. */
  readonly attempts: readonly ReceiptAttempt[]
  /** The sum over the attempts. */
  readonly operatorCost: UsdNanos
  /** The provider's stated cost minus the charge; null if either is missing. */
  readonly statedDifference: UsdNanos | null
}

export interface ReceiptSources {
  readonly entry: ActivityEntry
  readonly keyName: string
  readonly charge: LedgerEntry | undefined
  /** The one that the charge names. */
  readonly version: PriceVersion | undefined
}

/** Combines the log entry, the ledger entry and the price version of one request. */
export function toReceipt({ entry, keyName, charge, version }: ReceiptSources): Receipt {
  const total = charge ? negateUsd(charge.amount) : NO_MONEY
  const { statedCost, usage, image, modifiers } = entry
  return {
    entry,
    keyName,
    total,
    chargedAt: charge?.at ?? null,
    rubPerUsd: charge?.rubPerUsd ?? null,
    priceVersion: charge?.priceVersion ?? null,
    lines: charge && version ? chargeLines(usage, version, image ?? ANY_IMAGE, modifiers) : [],
    attempts: [...entry.failedAttempts, ...lastAttempt(entry, charge !== undefined)],
    operatorCost: operatorCost(entry),
    statedDifference:
      charge && statedCost !== null ? driftUsd({ charged: total, stated: statedCost }) : null,
  }
}

/** Reads the receipt for a log entry. */
export async function readReceipt(
  store: Pick<Store, 'keys' | 'ledger' | 'models'>,
  entry: ActivityEntry,
): Promise<Receipt> {
  const charge = await store.ledger.chargeOf(entry.generationId)
  const version = charge?.priceVersion ? await store.models.version(charge.priceVersion) : undefined
  const key = await store.keys.find(entry.keyId)
  return toReceipt({ entry, keyName: key?.name ?? entry.keyId, charge, version })
}

/** The outcome of the attempt that did not fail. Where the upstream ended the request, every attempt failed. */
const LAST_OUTCOMES: Readonly<Record<EndedBy, ReceiptAttempt['outcome'] | null>> = {
  completed: 'answered',
  client: 'left',
  gateway: 'stopped',
  upstream: null,
  refused: null,
}

function lastAttempt(entry: ActivityEntry, isCharged: boolean): readonly ReceiptAttempt[] {
  const { model, provider, credential, endedBy, code, failedAttempts, unchargedCost } = entry
  const outcome = LAST_OUTCOMES[endedBy]
  // A disconnect after the request was sent is always charged, so without a charge nothing was sent.
  const wasAsked =
    provider !== null && (endedBy !== 'client' || isCharged) && code !== 'descriptors_exhausted'
  if (outcome === null || !wasAsked) return []
  const before = failedAttempts.reduce((sum, { ms }) => sum + ms, entry.queuedMs)
  const ms = Math.max(0, entry.totalMs - before)
  return [
    {
      model,
      provider,
      ...(credential !== null && { credential }),
      outcome,
      status: null,
      reason: null,
      ms,
      operatorCost: unchargedCost,
    },
  ]
}
