/** A chat request as a conversation: the one place where its body is read for providers of other wires. */
import type { JsonObject } from '#domain/chat.ts'
import type { ChatOnly, Conversation, Drawing, Format, Sampling } from '#domain/conversation.ts'
import {
  isLongInteger,
  isObject,
  readList,
  readNumber,
  readObject,
  readText,
} from '#domain/json.ts'
import { type Generate, wholeBody } from '#domain/work.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { imageSizeOf } from './image-size.ts'
import { toToolChoice, toTools } from './to-tools.ts'
import { toTurns } from './to-turns.ts'

/**
 * A method of the request, so that none of them has a function of its own. Never refuses: what no provider understands is named
 * in it, and refused by each family in its own words.
 */
export function toConversation(this: Pick<Generate, 'body' | 'source'>): Conversation {
  const body = wholeBody(this)
  const { tool_choice: choice, response_format: format, logprobs, top_logprobs: top } = body
  const endUser = readText(body['user']) ?? readText(body['safety_identifier'])
  const written = toFormat(readObject(format))
  return {
    turns: toTurns(body['messages']),
    tools: toTools(body['tools']),
    ...(isSet(choice) && { toolChoice: toToolChoice(choice) }),
    parallelToolCalls: body['parallel_tool_calls'] !== false,
    ...(written && { format: written }),
    sampling: toSampling(body),
    stop: toStop(body['stop']),
    ...(logprobs === true && { logprobs: typeof top === 'number' ? { top } : {} }),
    drawing: toDrawing(body),
    ...(endUser !== undefined && { endUser }),
    ...toCacheMark(body),
    safetySettings: readList(body['safety_settings']),
    chatOnly: toChatOnly(body),
  }
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null

/** Undefined for plain text. */
function toFormat({ type, json_schema: stated }: JsonObject): Format | undefined {
  if (type === undefined || type === 'text') return undefined
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema') return { type: 'unknown' }
  const { name, description, schema, strict } = readObject(stated)
  const [called, words] = [readText(name), readText(description)]
  return {
    type: 'schema',
    ...(called !== undefined && { name: called }),
    ...(words !== undefined && { description: words }),
    ...(isObject(schema) && { schema }),
    ...(typeof strict === 'boolean' && { isStrict: strict }),
  }
}

function toSampling(body: JsonObject): Sampling {
  const sampling: { -readonly [Field in keyof Sampling]: Sampling[Field] } = {}
  for (const [field, name] of SAMPLING) {
    const value = readNumber(body[field])
    if (value !== undefined) sampling[name] = value
  }
  const { seed } = body
  if (isLongInteger(seed)) sampling.seed = seed
  return sampling
}

const SAMPLING = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['seed', 'seed'],
] as const

const toStop = (stop: unknown): readonly string[] =>
  (typeof stop === 'string' ? [stop] : readList(stop)).flatMap((one) => readText(one) ?? [])

function toDrawing({ modalities, image_config: config }: JsonObject): Drawing {
  const stated = readObject(config)
  const aspectRatio = readText(stated['aspect_ratio'])
  const size = imageSizeOf(stated)
  return {
    withText: readList(modalities).includes('text'),
    ...(aspectRatio !== undefined && { aspectRatio }),
    ...(size !== undefined && { size }),
  }
}

const CHAT_ONLY = ['logit_bias', 'functions', 'function_call', 'audio'] as const

const toChatOnly = (body: JsonObject): readonly ChatOnly[] =>
  CHAT_ONLY.flatMap((path) => {
    const value = body[path]
    if (!isSet(value)) return []
    return [
      { path, isEmpty: typeof value === 'object' && Object.keys(value as object).length === 0 },
    ]
  })
