/** The flat record of a receipt, for the key's holder over HTTP; the operator's record extends it (contract §7). */
import { renderInstant } from './clock.ts'
import { renderPrice, renderRub, renderRubPerUsd, renderUsd } from './money.ts'
import type { ChargeLine } from './pricing.ts'
import type { Receipt, ReceiptAttempt } from './receipt.ts'
import { describeFailure } from './upstream.ts'
import { completionTokens, promptTokens } from './usage.ts'

export interface LineRecord {
  readonly class: string
  readonly unit: string
  /** Of a line about calls. */
  readonly tool?: string
  readonly count: number
  readonly unit_price_usd: string
  /** Not rounded; together they round to `cost_usd`. */
  readonly amount_usd: string
}

export interface AttemptRecord {
  readonly model: string
  readonly provider: string
  readonly outcome: string
  /** The provider's own. */
  readonly status: number | null
  readonly reason: string | null
  readonly ms: number
}

export type ReceiptRecord = ReturnType<typeof renderReceipt>

/** Has nothing that only the operator may see. */
export function renderReceipt(receipt: Receipt) {
  const { entry, lines, rubPerUsd, chargedAt } = receipt
  return {
    object: 'generation' as const,
    id: entry.generationId,
    request_id: entry.requestId,
    created_at: renderInstant(entry.startedAt),
    key_id: entry.keyId,
    key_name: receipt.keyName,
    user: entry.endUser,
    surface: entry.surface,
    session: entry.session,
    model: entry.model,
    provider: entry.provider,
    stream: entry.stream,
    status: entry.status,
    code: entry.code,
    ended_by: entry.endedBy,
    finish_reason: entry.finishReason,
    cost_usd: renderUsd(receipt.total),
    cost_rub: renderRub(entry.costRub),
    rub_per_usd: rubPerUsd === null ? null : renderRubPerUsd(rubPerUsd),
    price_version: receipt.priceVersion,
    charged_at: renderInstant(chargedAt),
    lines: lines.map(renderLine),
    /** Factors that are in the prices of the lines. */
    modifiers: entry.modifiers,
    /** Tools of the vendor that were cut from the request, by their type. */
    cut_tools: entry.cutTools,
    image: entry.image && {
      resolution: entry.image.resolution ?? null,
      quality: entry.image.quality ?? null,
    },
    /** The bound of the answer where it was lower than the client's own, or than the model's; else null. */
    max_output_tokens: entry.loweredBound,
    usage: renderCounts(receipt),
    usage_source: entry.usageSource,
    queued_ms: entry.queuedMs,
    first_byte_ms: entry.firstEventMs,
    total_ms: entry.totalMs,
    attempts: receipt.attempts.map(renderAttempt),
  }
}

const renderLine = ({ name, unit, tool, count, unitPrice, amount }: ChargeLine): LineRecord => ({
  class: name,
  unit,
  ...(tool !== undefined && { tool }),
  count,
  unit_price_usd: renderPrice(unitPrice),
  amount_usd: renderPrice(amount),
})

function renderCounts({ entry: { usage } }: Receipt) {
  const prompt = promptTokens(usage)
  const completion = completionTokens(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    reasoning_tokens: usage.reasoningTokens,
    images: usage.outputImages,
  }
}

function renderAttempt(attempt: ReceiptAttempt): AttemptRecord {
  const { model, provider, outcome, status, reason, ms } = attempt
  return { model, provider, outcome, status, reason: describeReason(outcome, provider, reason), ms }
}

function describeReason(
  outcome: ReceiptAttempt['outcome'],
  provider: string,
  reason: string | null,
): string | null {
  return outcome === 'answered' || outcome === 'left' || outcome === 'stopped' || reason === null
    ? null
    : describeFailure(outcome, provider, reason)
}
