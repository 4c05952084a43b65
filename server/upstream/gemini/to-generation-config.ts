/** Ours → theirs: sampling, format and image parameters as a GenerationConfig. */
import type { Conversation, Drawing, Format, Sampling } from '#domain/conversation.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { Generate } from '#domain/work.ts'
import { rejected } from '../rejected.ts'
import { toSchema } from './to-schema.ts'
import { toThinking } from './to-thinking.ts'
import type { GenerationConfig } from './wire.ts'

/** Undefined when it would be empty. @throws UpstreamFailure `rejected` */
export function toGenerationConfig(
  { choices, reasoning, wantsImages }: Generate,
  { sampling, stop, logprobs, format, drawing }: Conversation,
  card: ModelCard,
  maxOutputTokens: number | null,
): GenerationConfig | undefined {
  const thinkingConfig = toThinking(reasoning, card.upstreamName, maxOutputTokens)
  const config: GenerationConfig = {
    ...toSampling(sampling),
    ...(maxOutputTokens !== null && { maxOutputTokens }),
    ...(choices > 1 && { candidateCount: choices }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(logprobs && toLogprobs(logprobs)),
    ...(format && toFormat(format)),
    ...toModalities(wantsImages, drawing, card),
    ...toImageConfig(drawing),
    ...(thinkingConfig && { thinkingConfig }),
  }
  return Object.keys(config).length > 0 ? config : undefined
}

/** The names are theirs. A seed may be longer than the type that their client has for it. */
const toSampling = ({ seed, ...others }: Sampling): GenerationConfig => ({
  ...others,
  ...(seed !== undefined && { seed: seed as number }),
})

const toLogprobs = ({ top }: NonNullable<Conversation['logprobs']>): GenerationConfig => ({
  responseLogprobs: true,
  ...(top !== undefined && { logprobs: top }),
})

function toFormat(format: Format): GenerationConfig {
  if (format.type === 'unknown') throw rejected('response_format', 'cannot be said on this wire')
  const schema = format.type === 'schema' ? format.schema : undefined
  return {
    responseMimeType: 'application/json',
    ...(schema !== undefined && { responseJsonSchema: toSchema(schema) }),
  }
}

/** A model that can draw is told to answer with text unless images are requested (contract §7). */
function toModalities(
  wantsImages: boolean,
  { withText }: Drawing,
  { outputModalities }: ModelCard,
): GenerationConfig {
  if (!wantsImages)
    return outputModalities.includes('image') ? { responseModalities: ['TEXT'] } : {}
  return { responseModalities: withText ? ['TEXT', 'IMAGE'] : ['IMAGE'] }
}

/** Sizes are `1K`, `2K`, `4K`; OpenAI's pixel sizes and qualities have no equivalent. */
function toImageConfig({ aspectRatio, size = '' }: Drawing): GenerationConfig {
  const imageConfig = {
    ...(aspectRatio !== undefined && { aspectRatio }),
    ...(/^(?:[124]K|512(?:px)?|0\.5K)$/.test(size) && { imageSize: size }),
  }
  return Object.keys(imageConfig).length > 0 ? { imageConfig } : {}
}
