/** The low-balance mark: whether an account is known to be low, and when its owner is notified (contract §9). */
import { parseAbsoluteUrl } from './absolute-url.ts'
import type { Account } from './account.ts'
import { type Act, type ActChanges, type Amended, changesBetween } from './act.ts'
import { DAY_MS, type Instant } from './clock.ts'
import type { AccountId } from './id.ts'
import { renderUsd, type UsdNanos } from './money.ts'
import type { Channel } from './notice.ts'
import type { WebhookSecretOffer } from './webhook-secret.ts'

/** The balance below which an account's owner is notified, and the addresses. */
export interface Threshold {
  readonly accountId: AccountId
  /** A settled balance below it is low; null disables notices. */
  readonly below: UsdNanos | null
  readonly email: string | null
  /** https. The signing secret is stored encrypted and read only by the courier. */
  readonly webhookUrl: string | null
}

/** The channels that have an address. */
export const channelsOf = ({
  email,
  webhookUrl,
}: Pick<Threshold, 'email' | 'webhookUrl'>): readonly Channel[] => [
  ...(email === null ? [] : (['email'] as const)),
  ...(webhookUrl === null ? [] : (['webhook'] as const)),
]

/** Set while an account is known to be low; null while it is not. */
export interface Mark {
  /** When the last notice was written. */
  readonly notifiedAt: Instant
}

/** A threshold, and whether the account is below it. */
export interface MarkedThreshold extends Threshold {
  readonly mark: Mark | null
}

/** What moved: a charge, a credit or adjustment upwards, or the threshold itself. */
export type Movement = 'debit' | 'credit' | 'threshold'

export interface LowBalanceVerdict {
  readonly mark: Mark | null
  /** Whether to write a notice, in the same transaction as the movement. */
  readonly notify: boolean
}

/** The minimum interval between two notices of one mark. */
const NOTICE_INTERVAL_MS = DAY_MS

/**
 * Judges a settled balance right after the balance or the threshold has changed. Below and unmarked: mark and notify. Marked
 * and still below after a debit: notify again, but not within a day of the last notice. Above after a credit or a change of
 * the threshold: reset the mark, so that the next fall notifies at once.
 */
export function judgeLowBalance(
  balance: UsdNanos,
  below: UsdNanos | null,
  mark: Mark | null,
  movement: Movement,
  at: Instant,
): LowBalanceVerdict {
  if (below === null) return { mark: null, notify: false }
  if (balance < below) {
    if (mark === null) return { mark: { notifiedAt: at }, notify: true }
    const sinceMs = at - mark.notifiedAt
    // A notice that lies more than a day ahead was written before the clock was set back.
    const isRecent = sinceMs < NOTICE_INTERVAL_MS && sinceMs >= -NOTICE_INTERVAL_MS
    const isDue = movement === 'debit' && !isRecent
    return isDue ? { mark: { notifiedAt: at }, notify: true } : { mark, notify: false }
  }
  const isReset = movement !== 'debit' && balance > below
  return { mark: isReset ? null : mark, notify: false }
}

/** Changes to a threshold; an absent field stays as it is. */
export type ThresholdChange = Pick<Threshold, 'accountId'> & Partial<Threshold>

export interface ChangedThreshold extends Amended<Threshold> {
  /** Whether the offered secret was taken. */
  readonly hasNewSecret: boolean
}

/** What an act of setting a threshold says: of a webhook's address only the origin, because its path may be secret. */
export function describeThreshold({ before, after, hasNewSecret }: ChangedThreshold): ActChanges {
  const originOf = ({ webhookUrl }: Threshold): string | null =>
    webhookUrl === null ? null : (parseAbsoluteUrl(webhookUrl)?.origin ?? null)
  return {
    ...changesBetween(factsOf(before), factsOf(after)),
    ...(before.webhookUrl !== after.webhookUrl && {
      webhook: { from: originOf(before), to: originOf(after) },
    }),
    ...(hasNewSecret && { webhook_secret: 'new' }),
  }
}

const factsOf = ({ below, email }: Threshold): ActChanges => ({
  threshold_usd: renderUsd(below),
  email,
})

/** Each account with its threshold, read in one go. */
export async function withThresholds(
  thresholds: Pick<Thresholds, 'findMany'>,
  accounts: readonly Account[],
): Promise<readonly (readonly [Account, MarkedThreshold])[]> {
  const read = await thresholds.findMany(accounts.map(({ id }) => id))
  return accounts.flatMap((account, place) => {
    const one = read[place]
    return one === undefined ? [] : [[account, one] as const]
  })
}

/** Port: thresholds and their marks. An engine judges within the transaction that changes the balance. */
export interface Thresholds {
  /** The threshold as set; all null for an account where none was ever set. @throws account_not_found */
  find(accountId: AccountId): Promise<MarkedThreshold>
  /** Of each account, in their order. @throws account_not_found */
  findMany(accountIds: readonly AccountId[]): Promise<readonly MarkedThreshold[]>
  /**
   * Changes the threshold as it is by then and judges the balance again, durable before it resolves; the secret is stored
   * encrypted. The act gains what changed, from what to what. @throws account_not_found
   */
  set(
    change: ThresholdChange,
    offer: WebhookSecretOffer | undefined,
    act: Act,
  ): Promise<ChangedThreshold>
  /** Null where no webhook is set. @throws internal_error when it cannot be decrypted with this master key */
  webhookSecret(accountId: AccountId): Promise<string | null>
}
