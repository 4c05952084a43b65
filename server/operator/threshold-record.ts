/** A threshold as records show it: everything but the secret that signs its webhooks. */
import { renderInstant } from '#domain/clock.ts'
import type { Mark, Threshold } from '#domain/low-balance.ts'
import { renderUsd } from '#domain/money.ts'

export interface ThresholdRecord {
  /** Null while no notice is asked for. */
  readonly threshold_usd: string | null
  readonly email: string | null
  readonly webhook_url: string | null
  /** Whether the account is known to be low. */
  readonly marked: boolean
  /** When its owner was last told; null while it is not marked. */
  readonly notified_at: string | null
}

export const renderThreshold = ({
  below,
  email,
  webhookUrl,
  mark,
}: Threshold & { readonly mark: Mark | null }): ThresholdRecord => ({
  threshold_usd: below === null ? null : renderUsd(below),
  email,
  webhook_url: webhookUrl,
  marked: mark !== null,
  notified_at: mark === null ? null : renderInstant(mark.notifiedAt),
})
