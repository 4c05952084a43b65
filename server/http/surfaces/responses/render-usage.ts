/** The `usage` of a response: the counts of the Responses API, and what they cost where the client asks for that. */
import type { JsonObject } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import { renderRub, renderUsdNumber } from '#domain/money.ts'
import { cacheWriteTokens, completionTokens, promptTokens } from '#domain/usage.ts'

export function renderUsage({ usage, amount, costRub }: Charge, showsCost: boolean): JsonObject {
  const [input, output] = [promptTokens(usage), completionTokens(usage)]
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: cacheWriteTokens(usage),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: input + output,
    ...(showsCost && { cost: renderUsdNumber(amount), cost_rub: renderRub(costRub) }),
  }
}
