/** The `usage` of an answer: OpenAI's counts, and their cost in both currencies (contract §7). */
import type { Charge } from '#domain/ledger.ts'
import { FREE, renderPrice, renderRub, renderRubPerUsd, renderUsdNumber } from '#domain/money.ts'
import { cacheWriteTokens, completionTokens, promptTokens, type Usage } from '#domain/usage.ts'

/** One object literal without spreads, because it is on the hot path. */
export function renderUsage(charge: Charge) {
  const { usage } = charge
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
    cost_details: renderCost(charge),
  }
}

function renderCost({ parts, rubPerUsd, priceVersion, source, modifiers }: Charge): CostDetails {
  const cost: CostDetails = {
    prompt_usd: renderPrice(parts.prompt),
    completion_usd: renderPrice(parts.completion),
    images_usd: renderPrice(parts.images),
    rub_per_usd: renderRubPerUsd(rubPerUsd),
    price_version: priceVersion,
    source,
  }
  if (parts.tools !== FREE) cost.tools_usd = renderPrice(parts.tools)
  if (modifiers.length > 0) cost.modifiers = modifiers
  return cost
}

interface CostDetails {
  readonly prompt_usd: string
  readonly completion_usd: string
  readonly images_usd: string
  readonly rub_per_usd: string
  readonly price_version: Charge['priceVersion']
  readonly source: Charge['source']
  tools_usd?: string
  modifiers?: readonly string[]
}

function renderPromptDetails(usage: Usage): PromptDetails {
  const details: { -readonly [Detail in keyof PromptDetails]: PromptDetails[Detail] } = {
    cached_tokens: usage.cacheReadTokens,
    cache_write_tokens: cacheWriteTokens(usage),
  }
  if (usage.cacheWrite1hTokens > 0) details.cache_write_1h_tokens = usage.cacheWrite1hTokens
  if (usage.imageInputTokens > 0) details.image_tokens = usage.imageInputTokens
  return details
}

interface PromptDetails {
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens?: number
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
