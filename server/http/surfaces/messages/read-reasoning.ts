/** How a Messages request wants its model to think: `thinking`, and `output_config.effort`. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readNumber, readObject, readText } from '#domain/json.ts'
import type { Reasoning } from '#domain/thinking.ts'
import type { Work } from '#domain/work.ts'

/** What a model gets that is to think as it sees fit. */
const ADAPTIVE_EFFORT = 'medium'

/** Null where it says nothing; without `thinking`, Anthropic's models do not think. */
export function readReasoning({ thinking, output_config: config }: JsonObject): Reasoning | null {
  const effort = readText(readObject(config)['effort'])
  if (!isObject(thinking)) return effort === undefined ? null : { effort, native: NOTHING }
  const { type, budget_tokens: tokens } = thinking
  if (type === 'disabled') return { effort: 'none', native: thinking }
  const budget = readNumber(tokens)
  const word = effort ?? (budget === undefined ? ADAPTIVE_EFFORT : undefined)
  return {
    ...(word !== undefined && { effort: word }),
    ...(budget !== undefined && { budget }),
    native: thinking,
  }
}

const NOTHING: JsonObject = {}

/** Whether the answer shows what its model thinks. */
export function showsThinking({ reasoning }: Pick<Work, 'reasoning'>): boolean {
  const { type, display } = reasoning?.native ?? NOTHING
  return type !== undefined && type !== 'disabled' && display !== 'omitted'
}
