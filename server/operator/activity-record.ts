/** Records of requests for operators: a log entry, and a receipt with the costs that the key's holder does not see. */
import { type ActivityEntry, isBeyondHold } from '#domain/activity.ts'
import { renderInstant } from '#domain/clock.ts'
import { driftBasisPoints } from '#domain/drift.ts'
import { renderRub, renderUsd } from '#domain/money.ts'
import type { Receipt } from '#domain/receipt.ts'
import { type AttemptRecord, type ReceiptRecord, renderReceipt } from '#domain/receipt-report.ts'
import { completionTokens, promptTokens } from '#domain/usage.ts'

export interface ActivityRecord {
  readonly id: string
  readonly request_id: string
  readonly created_at: string
  readonly account_id: string
  readonly key_id: string
  readonly key_name: string
  readonly user: string | null
  /** The surface that it came to: chat, messages, responses … */
  readonly surface: string
  /** As the client names it; null where it names none. */
  readonly session: string | null
  /** That it came to; null where one process has the store. */
  readonly node: string | null
  readonly model: string
  /** Null when no provider was asked. */
  readonly provider: string | null
  /** By which of the provider's several; null where it has one. */
  readonly credential: string | null
  readonly stream: boolean
  readonly status: number
  readonly code: string | null
  readonly ended_by: string
  readonly finish_reason: string | null
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly images: number
  readonly usage_source: string | null
  readonly cost_usd: string
  readonly cost_rub: number
  /** What was held for it; null where nothing was. */
  readonly held_usd: string | null
  /** Whether the cost exceeds what was held: the provider counted more than it was bound to. */
  readonly beyond_hold: boolean
  readonly failed_attempts: number
  readonly queued_ms: number
  readonly first_byte_ms: number | null
  readonly total_ms: number
}

export const renderActivity = (entry: ActivityEntry, keyName: string): ActivityRecord => ({
  id: entry.generationId,
  request_id: entry.requestId,
  created_at: renderInstant(entry.startedAt),
  account_id: entry.accountId,
  key_id: entry.keyId,
  key_name: keyName,
  user: entry.endUser,
  surface: entry.surface,
  session: entry.session,
  node: entry.node,
  model: entry.model,
  provider: entry.provider,
  credential: entry.credential,
  stream: entry.stream,
  status: entry.status,
  code: entry.code,
  ended_by: entry.endedBy,
  finish_reason: entry.finishReason,
  prompt_tokens: promptTokens(entry.usage),
  completion_tokens: completionTokens(entry.usage),
  images: entry.usage.outputImages,
  usage_source: entry.usageSource,
  cost_usd: renderUsd(entry.cost),
  cost_rub: renderRub(entry.costRub),
  held_usd: renderUsd(entry.hold),
  beyond_hold: isBeyondHold(entry),
  failed_attempts: entry.failedAttempts.length,
  queued_ms: entry.queuedMs,
  first_byte_ms: entry.firstEventMs,
  total_ms: entry.totalMs,
})

export interface OperatorAttemptRecord extends AttemptRecord {
  /** By which of the provider's several; null where it has one. */
  readonly credential: string | null
  readonly operator_cost_usd: string
}

export interface OperatorReceiptRecord extends Omit<ReceiptRecord, 'attempts'> {
  readonly account_id: string
  readonly node: string | null
  /** What was held for it; null where nothing was. */
  readonly held_usd: string | null
  /** Whether the cost exceeds what was held: the provider counted more than it was bound to. */
  readonly beyond_hold: boolean
  readonly attempts: readonly OperatorAttemptRecord[]
  /** Output of failed attempts and what came beyond what was held, at the model's price, which nobody is charged. */
  readonly operator_cost_usd: string
  /** The cost stated by the provider; null without one. */
  readonly stated_cost_usd: string | null
  /** Stated less charged. */
  readonly stated_difference_usd: string | null
  readonly stated_difference_percent: number | null
}

export const renderOperatorReceipt = (receipt: Receipt): OperatorReceiptRecord => {
  const { entry, total, attempts, statedDifference } = receipt
  const { statedCost } = entry
  return {
    ...renderReceipt(receipt),
    account_id: entry.accountId,
    node: entry.node,
    held_usd: renderUsd(entry.hold),
    beyond_hold: isBeyondHold(entry),
    attempts: attempts.map((attempt) => ({
      model: attempt.model,
      provider: attempt.provider,
      credential: attempt.credential ?? null,
      outcome: attempt.outcome,
      status: attempt.status,
      reason: attempt.reason,
      ms: attempt.ms,
      operator_cost_usd: renderUsd(attempt.operatorCost),
    })),
    operator_cost_usd: renderUsd(receipt.operatorCost),
    stated_cost_usd: renderUsd(statedCost),
    stated_difference_usd: renderUsd(statedDifference),
    stated_difference_percent:
      statedDifference === null || statedCost === null
        ? null
        : percentOf({ charged: total, stated: statedCost }),
  }
}

/** With two decimal places: 4.76; null when nothing was charged. */
export function percentOf(costs: Parameters<typeof driftBasisPoints>[0]): number | null {
  const basisPoints = driftBasisPoints(costs)
  return basisPoints === null ? null : basisPoints / 100
}
