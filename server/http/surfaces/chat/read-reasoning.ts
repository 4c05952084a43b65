/** How a chat request wants its model to think: `reasoning_effort`, OpenRouter's `reasoning`, Anthropic's `thinking`. */
import type { JsonObject } from '#domain/chat.ts'
import type { Reasoning } from '#domain/thinking.ts'
import { isObject, readNumber, readObject } from '../../read/json.ts'

/** Null where none of them says anything. OpenAI's own word goes before OpenRouter's object. */
export function readReasoning(body: JsonObject): Reasoning | null {
  const { reasoning_effort: own, reasoning: stated, thinking } = body
  if (own === undefined && stated === undefined && thinking === undefined) return null
  const isOwn = own !== undefined && own !== null
  const { effort, max_tokens: tokens, enabled } = isOwn ? NOTHING : readObject(stated)
  const budget = readNumber(tokens)
  const word = isOwn ? own : toWord(effort, enabled, budget)
  if (word === undefined && budget === undefined && !isObject(thinking)) return null
  return {
    ...(word !== undefined && { effort: String(word) }),
    ...(budget !== undefined && { budget }),
    ...(isObject(thinking) && { native: thinking }),
  }
}

const NOTHING: JsonObject = {}

function toWord(effort: unknown, enabled: unknown, budget: number | undefined): unknown {
  if (enabled === false) return 'none'
  return effort ?? (enabled === true && budget === undefined ? 'medium' : undefined)
}
