/** Ours: a Responses request as a conversation: the one place where its body is read for providers of other wires. */
import type { JsonObject } from '#domain/chat.ts'
import type { Conversation, Format, Sampling } from '#domain/conversation.ts'
import { isObject, readList, readNumber, readObject, readText } from '#domain/json.ts'
import type { Seals } from '../../seals.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { toToolChoice, toTools } from './to-tools.ts'
import { toTurns } from './to-turns.ts'

/** Never refuses: what no provider understands is named in it, and refused by each family in its own words. */
export function toConversation(body: JsonObject, seals: Seals): Conversation {
  const choice = toToolChoice(body['tool_choice'])
  const format = toFormat(readObject(readObject(body['text'])['format']))
  const endUser = readText(body['user']) ?? readText(body['safety_identifier'])
  const cacheKey = readText(body['prompt_cache_key'])
  return {
    turns: toTurns(body, seals),
    tools: toTools(body['tools']),
    ...(choice && { toolChoice: choice }),
    parallelToolCalls: body['parallel_tool_calls'] !== false,
    ...(format && { format }),
    sampling: toSampling(body),
    stop: [],
    ...toLogprobs(body),
    drawing: { withText: false },
    ...(endUser !== undefined && { endUser }),
    ...(cacheKey !== undefined && { cacheKey }),
    ...toCacheMark(body),
    safetySettings: [],
    chatOnly: [],
  }
}

/** Undefined for plain text. */
function toFormat({ type, name, description, schema, strict }: JsonObject): Format | undefined {
  if (type === undefined || type === 'text') return undefined
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema') return { type: 'unknown' }
  const [called, words] = [readText(name), readText(description)]
  return {
    type: 'schema',
    ...(called !== undefined && { name: called }),
    ...(words !== undefined && { description: words }),
    ...(isObject(schema) && { schema }),
    ...(typeof strict === 'boolean' && { isStrict: strict }),
  }
}

function toSampling({ temperature, top_p }: JsonObject): Sampling {
  const [heat, topP] = [readNumber(temperature), readNumber(top_p)]
  return {
    ...(heat !== undefined && { temperature: heat }),
    ...(topP !== undefined && { topP }),
  }
}

/** They are in an answer where `include` says so. */
function toLogprobs({ include, top_logprobs: top }: JsonObject): Pick<Conversation, 'logprobs'> {
  if (!readList(include).includes('message.output_text.logprobs')) return {}
  return { logprobs: typeof top === 'number' && top > 0 ? { top } : {} }
}
