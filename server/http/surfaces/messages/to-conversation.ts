/** A Messages request as a conversation: the one place where its body is read for providers of other wires. */
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation, Format, Sampling } from '#domain/conversation.ts'
import { isObject, readList, readNumber, readObject, readText } from '#domain/json.ts'
import { type Generate, wholeBody } from '#domain/work.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { isClosed } from './is-closed.ts'
import { toToolChoice, toTools } from './to-tools.ts'
import { toTurns } from './to-turns.ts'

/**
 * A method of the request, so that none of them has a function of its own. Never refuses: what no provider understands is named
 * in it, and refused by each family in its own words. What only steers Anthropic's own service is left out: the answer is right
 * without `context_management`, `diagnostics` and a `speed` of `standard`.
 */
export function toConversation(this: Pick<Generate, 'body' | 'source' | 'endUser'>): Conversation {
  const { endUser } = this
  const body = wholeBody(this)
  const { tools, tool_choice: choice, stop_sequences: stop } = body
  const format = toFormat(body)
  return {
    turns: toTurns(body),
    tools: toTools(tools),
    ...(isObject(choice) && { toolChoice: toToolChoice(choice) }),
    parallelToolCalls: readObject(choice)['disable_parallel_tool_use'] !== true,
    ...(format && { format }),
    sampling: toSampling(body),
    stop: readList(stop).flatMap((one) => readText(one) ?? []),
    drawing: { withText: false },
    ...(endUser !== null && { endUser }),
    ...toCacheMark(body),
    safetySettings: [],
    chatOnly: [],
  }
}

/** Undefined for plain text. Older clients name it `output_format`. */
function toFormat({ output_config: config, output_format: older }: JsonObject): Format | undefined {
  const stated = readObject(config)['format'] ?? older
  if (!isObject(stated)) return undefined
  const { type, schema } = stated
  if (type !== 'json_schema' || !isObject(schema)) return { type: 'unknown' }
  return { type: 'schema', schema, isStrict: isClosed(schema) }
}

function toSampling({ temperature, top_p, top_k }: JsonObject): Sampling {
  const [warmth, topP, topK] = [readNumber(temperature), readNumber(top_p), readNumber(top_k)]
  return {
    ...(warmth !== undefined && { temperature: warmth }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
  }
}
