/** Ours → theirs: OpenAI's sampling, format and image parameters as a GenerationConfig. */
import type { JsonObject } from '#domain/chat.ts'
import { isLongInteger } from '#domain/exact-json.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { Work } from '#domain/work.ts'
import { readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toSchema } from './to-schema.ts'
import { toThinking } from './to-thinking.ts'
import type { GenerationConfig } from './wire.ts'

/** Undefined when it would be empty. @throws UpstreamFailure `rejected` */
export function toGenerationConfig(
  request: Work,
  card: ModelCard,
  maxOutputTokens: number | null,
): GenerationConfig | undefined {
  const { body } = request
  const thinkingConfig = toThinking(body, card.upstreamName, maxOutputTokens)
  const config: GenerationConfig = {
    ...toSampling(body),
    ...(maxOutputTokens !== null && { maxOutputTokens }),
    ...(request.choices > 1 && { candidateCount: request.choices }),
    ...toStop(body['stop']),
    ...toLogprobs(body),
    ...toFormat(readObject(body['response_format'])),
    ...toModalities(request, card),
    ...toImageConfig(body['image_config']),
    ...(thinkingConfig && { thinkingConfig }),
  }
  return Object.keys(config).length > 0 ? config : undefined
}

const NUMBERS = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  seed: 'seed',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
} as const

const toSampling = (body: JsonObject): GenerationConfig =>
  Object.fromEntries(
    Object.entries(NUMBERS).flatMap(([ours, theirs]) =>
      isNumber(body[ours]) ? [[theirs, body[ours]]] : [],
    ),
  )

const isNumber = (value: unknown): boolean => typeof value === 'number' || isLongInteger(value)

function toStop(stop: unknown): GenerationConfig {
  const list = typeof stop === 'string' ? [stop] : readList(stop)
  const stopSequences = list.flatMap((one) => readText(one) ?? [])
  return stopSequences.length > 0 ? { stopSequences } : {}
}

function toLogprobs({ logprobs, top_logprobs: top }: JsonObject): GenerationConfig {
  if (logprobs !== true) return {}
  return { responseLogprobs: true, ...(typeof top === 'number' && { logprobs: top }) }
}

function toFormat({ type, json_schema: stated }: JsonObject): GenerationConfig {
  if (type === undefined || type === 'text') return {}
  if (type === 'json_object') return { responseMimeType: 'application/json' }
  if (type !== 'json_schema') throw rejected('response_format', 'cannot be said on this wire')
  const { schema } = readObject(stated)
  return {
    responseMimeType: 'application/json',
    ...(schema !== undefined && { responseJsonSchema: toSchema(schema) }),
  }
}

/** A model that can draw is told to answer with text unless images are requested (contract §7). */
function toModalities({ body, wantsImages }: Work, card: ModelCard): GenerationConfig {
  if (!wantsImages) {
    return card.outputModalities.includes('image') ? { responseModalities: ['TEXT'] } : {}
  }
  const withText = readList(body['modalities']).includes('text')
  return { responseModalities: withText ? ['TEXT', 'IMAGE'] : ['IMAGE'] }
}

/** Sizes are `1K`, `2K`, `4K`; OpenAI's pixel sizes and qualities have no equivalent. */
function toImageConfig(value: unknown): GenerationConfig {
  const { aspect_ratio: ratio, image_size, size } = readObject(value)
  const aspectRatio = readText(ratio)
  const imageSize = [image_size, size].find(isSize)
  const imageConfig = {
    ...(aspectRatio !== undefined && { aspectRatio }),
    ...(imageSize !== undefined && { imageSize }),
  }
  return Object.keys(imageConfig).length > 0 ? { imageConfig } : {}
}

const isSize = (value: unknown): value is string =>
  typeof value === 'string' && /^(?:[124]K|512(?:px)?|0\.5K)$/.test(value)
