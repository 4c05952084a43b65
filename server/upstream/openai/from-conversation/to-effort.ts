/** How much a model is to think, in OpenAI's words. */
import type { Reasoning } from '#domain/thinking.ts'
import type { Dialect } from '#domain/work.ts'

/**
 * A budget becomes the effort whose budget it reaches elsewhere. A client of chat says what its model knows; the highest words of
 * others become one that every model knows. Undefined where the client leaves it to the model.
 */
export function toEffort({ effort, budget }: Reasoning, dialect: Dialect): string | undefined {
  if (effort === undefined) return budget === undefined ? undefined : effortOf(budget)
  return dialect !== 'chat' && (effort === 'xhigh' || effort === 'max') ? 'high' : effort
}

const effortOf = (tokens: number): string =>
  tokens < 8_192 ? 'low' : tokens < 24_576 ? 'medium' : 'high'
