/** A receipt, and the same in OpenRouter's format, so that cost trackers work. */
import { renderInstant } from '#domain/clock.ts'
import { renderUsdNumber } from '#domain/money.ts'
import type { Receipt } from '#domain/receipt.ts'
import { renderReceipt } from '#domain/receipt-report.ts'
import { completionTokens, promptTokens } from '#domain/usage.ts'

export const renderGeneration = (receipt: Receipt) => ({
  ...renderReceipt(receipt),
  data: renderOpenRouter(receipt),
})

/** Counts are the provider's own, so the `native_` fields equal the others. */
function renderOpenRouter({ entry, total }: Receipt) {
  const { usage } = entry
  const cost = renderUsdNumber(total)
  const prompt = promptTokens(usage)
  const completion = completionTokens(usage)
  return {
    id: entry.generationId,
    model: entry.model,
    provider_name: entry.provider,
    created_at: renderInstant(entry.startedAt),
    external_user: entry.endUser,
    streamed: entry.stream,
    cancelled: entry.endedBy === 'client',
    finish_reason: entry.finishReason,
    // The log keeps only the gateway's finish reason.
    native_finish_reason: null,
    latency: entry.totalMs,
    generation_time: entry.totalMs - entry.queuedMs,
    total_cost: cost,
    usage: cost,
    is_byok: false,
    tokens_prompt: prompt,
    tokens_completion: completion,
    native_tokens_prompt: prompt,
    native_tokens_completion: completion,
    native_tokens_cached: usage.cacheReadTokens,
    native_tokens_reasoning: usage.reasoningTokens,
    native_tokens_completion_images: usage.imageOutputTokens,
    num_media_prompt: usage.inputImages,
    num_media_completion: usage.outputImages,
  }
}
