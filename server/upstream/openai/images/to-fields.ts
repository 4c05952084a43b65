/** Ours → theirs: the fields common to generations and edits. */
import type { JsonObject } from '#domain/chat.ts'
import { readObject, readText } from '#domain/json.ts'
import type { ProviderType } from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'

export type Fields = Readonly<Record<string, string | number>>

/** Fields of `image_config` that are passed on, besides size and quality. */
const OPTIONS = [
  'background',
  'moderation',
  'output_format',
  'output_compression',
  'input_fidelity',
  'style',
] as const

const XAI_OPTIONS = ['aspect_ratio'] as const

/** Fields that are not set are left to the provider's defaults. */
export function toFields({ request, hop }: UpstreamCall, prompt: string): Fields {
  const { type } = hop.provider
  const config = readObject(request.body['image_config'])
  const model = hop.card.upstreamName
  const byPixels = type !== 'xai'
  const asked = request.image.resolution
  const size = byPixels ? toSize(asked, config, model) : undefined
  // xAI takes no sizes in pixels.
  const resolution = byPixels || IN_PIXELS.test(asked ?? '') ? undefined : asked
  const quality = byPixels ? request.image.quality : undefined
  return {
    model,
    prompt,
    ...(request.choices > 1 && { n: request.choices }),
    ...(size !== undefined && { size }),
    ...(quality !== undefined && { quality }),
    ...(resolution !== undefined && { resolution }),
    ...pick(config, byPixels ? OPTIONS : XAI_OPTIONS),
    ...(request.endUser !== null && { user: request.endUser }),
    ...toResponseFormat(type, model),
  }
}

const GPT_IMAGE = /gpt-image/i

/** gpt-image models always answer with bytes and refuse the field; Together has another value for it, and sends URLs. */
function toResponseFormat(type: ProviderType, model: string): Fields {
  const asks =
    type === 'openai' || type === 'azure'
      ? /dall-e/i.test(model)
      : type !== 'together' && !GPT_IMAGE.test(model)
  return asks ? { response_format: 'b64_json' } : {}
}

const IN_PIXELS = /^(?:\d{2,5}x\d{2,5}|auto)$/

/** A size in pixels, or OpenAI's size for the requested aspect ratio. */
function toSize(
  resolution: string | undefined,
  config: JsonObject,
  model: string,
): string | undefined {
  if (resolution !== undefined && IN_PIXELS.test(resolution)) return resolution
  const sides = /^(\d{1,3}):(\d{1,3})$/.exec(readText(config['aspect_ratio']) ?? '')
  const [wide, tall] = GPT_IMAGE.test(model)
    ? ['1536x1024', '1024x1536']
    : ['1792x1024', '1024x1792']
  if (sides === null || !(GPT_IMAGE.test(model) || /dall-e-3/i.test(model))) return undefined
  const lean = Number(sides[1]) - Number(sides[2])
  return lean === 0 ? '1024x1024' : lean > 0 ? wide : tall
}

function pick(config: JsonObject, names: readonly string[]): Fields {
  const picked: Record<string, string | number> = {}
  for (const name of names) {
    const value = config[name]
    if (typeof value === 'string' || typeof value === 'number') picked[name] = value
  }
  return picked
}
