/** The `usage` of a translated answer: Anthropic's counts, of which `input_tokens` has none that were cached. */
import type { Charge } from '#domain/ledger.ts'
import { estimatePrompt } from '#domain/offer-cost.ts'
import { cacheWriteTokens, completionTokens, type Usage } from '#domain/usage.ts'
import type { Work } from '#domain/work.ts'

/** Before anything was counted: clients show it, and one of zero as an empty context. */
export function renderFirstUsage(work: Work, model: string) {
  const { words, images } = estimatePrompt(work, { id: model, upstreamName: model })
  return {
    input_tokens: Math.max(1, words + images),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  }
}

export function renderUsage({ usage }: Pick<Charge, 'usage'>) {
  const { inputTokens, imageInputTokens, cacheReadTokens, reasoningTokens } = usage
  return {
    input_tokens: inputTokens + imageInputTokens,
    cache_creation_input_tokens: cacheWriteTokens(usage),
    cache_read_input_tokens: cacheReadTokens,
    cache_creation: renderWrites(usage),
    output_tokens: completionTokens(usage),
    ...(reasoningTokens > 0 && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  }
}

const renderWrites = ({ cacheWriteTokens: short, cacheWrite1hTokens: long }: Usage) => ({
  ephemeral_5m_input_tokens: short,
  ephemeral_1h_input_tokens: long,
})
