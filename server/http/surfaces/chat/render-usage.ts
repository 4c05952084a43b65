/** The `usage` of an answer: OpenAI's counts, and their cost in both currencies (contract §7). */
import type { Charge } from '#domain/ledger.ts'
import { renderPrice, renderRub, renderRubPerUsd, renderUsdNumber } from '#domain/money.ts'
import { completionTokens, promptTokens, type Usage } from '#domain/usage.ts'

/** One object literal without spreads, because it is on the hot path. */
export function renderUsage(charge: Charge) {
  const { usage, parts } = charge
  const prompt = promptTokens(usage)
  const completion = completionTokens(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    images: usage.outputImages,
    prompt_tokens_details: renderPromptDetails(usage),
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost_rub: renderRub(charge.costRub),
    cost: renderUsdNumber(charge.amount),
    cost_details: {
      prompt_usd: renderPrice(parts.prompt),
      completion_usd: renderPrice(parts.completion),
      images_usd: renderPrice(parts.images),
      rub_per_usd: renderRubPerUsd(charge.rubPerUsd),
      price_version: charge.priceVersion,
      source: charge.source,
    },
  }
}

function renderPromptDetails(usage: Usage): PromptDetails {
  const { cacheReadTokens: cached_tokens, cacheWriteTokens: cache_write_tokens } = usage
  return usage.imageInputTokens > 0
    ? { cached_tokens, cache_write_tokens, image_tokens: usage.imageInputTokens }
    : { cached_tokens, cache_write_tokens }
}

interface PromptDetails {
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly image_tokens?: number
}

/** The usage of a stream that failed before anything was produced. */
export const NOTHING_USED = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  images: 0,
  cost_rub: 0,
  cost: 0,
}
