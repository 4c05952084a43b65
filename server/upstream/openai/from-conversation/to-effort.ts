/** How much a model is to think, in OpenAI's words. */
import type { Hop } from '#domain/hop.ts'
import type { Reasoning } from '#domain/thinking.ts'
import type { Dialect } from '#domain/work.ts'

/**
 * A budget becomes the effort whose budget it reaches elsewhere. A client of chat says what its model knows; the highest words of
 * others become one that every model knows. Undefined where the client, or the model, leaves it to the model.
 */
export function toEffort(
  { effort, budget }: Reasoning,
  dialect: Dialect,
  hop: Hop,
): string | undefined {
  if (effort === undefined) return budget === undefined ? undefined : effortOf(budget)
  if (dialect === 'messages' && effort === 'none') return leastEffort(hop)
  return dialect !== 'chat' && (effort === 'xhigh' || effort === 'max') ? 'high' : effort
}

const effortOf = (tokens: number): string =>
  tokens < 8_192 ? 'low' : tokens < 24_576 ? 'medium' : 'high'

/** Clients of the Messages API turn thinking off without a thought of the model: one that is not known to take the word does not get it. */
function leastEffort({ card: { upstreamName }, provider: { type } }: Hop): string | undefined {
  if (type !== 'openai' && type !== 'azure') return undefined
  if (/gpt-5\.\d/.test(upstreamName)) return 'none'
  return /gpt-5(?:-mini|-nano|-20|$)/.test(upstreamName) ? 'minimal' : undefined
}
