/** The record of a threshold, without the secret that signs its webhooks. */
import { renderInstant } from '#domain/clock.ts'
import type { MarkedThreshold } from '#domain/low-balance.ts'
import { renderUsd } from '#domain/money.ts'

export interface ThresholdRecord {
  /** Null without a threshold. */
  readonly threshold_usd: string | null
  readonly email: string | null
  readonly webhook_url: string | null
  /** Whether the balance is below the threshold and a notice was created. */
  readonly marked: boolean
  /** When the last notice was created; null while not marked. */
  readonly notified_at: string | null
}

export const renderThreshold = ({
  below,
  email,
  webhookUrl,
  mark,
}: MarkedThreshold): ThresholdRecord => ({
  threshold_usd: renderUsd(below),
  email,
  webhook_url: webhookUrl,
  marked: mark !== null,
  notified_at: mark === null ? null : renderInstant(mark.notifiedAt),
})
