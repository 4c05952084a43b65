/** Reads a chat request: strict about what the gateway understands, silent about what it only passes on (contract §7). */
import { z } from 'zod'
import type { ChatRequest, JsonObject, Routing } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { demandNoKey } from './bearer.ts'
import type { Body } from './body.ts'
import { readMessages } from './read-messages.ts'

const MOST_CHOICES = 128
const MOST_TOKENS = 2 ** 31 - 1
const MOST_FALLBACK_MODELS = 8
const MOST_PROVIDERS = 64
const MOST_USER_CHARS = 256
const MOST_MODEL_CHARS = 256

const number = z.number().nullish()
const tokens = z.int().min(1).max(MOST_TOKENS).nullish()
const name = z.string().max(MOST_MODEL_CHARS)
const providers = z.array(name).max(MOST_PROVIDERS).nullish()

/** Null is absence: client libraries send it for every option that is not set. Measured at 1.5 µs for a body of 1 KB. */
export const chatForm = z.object({
  model: name,
  messages: z.unknown(),
  modalities: z.array(z.string()).max(16).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().max(MOST_USER_CHARS).nullish(),
  n: z.int().min(1).max(MOST_CHOICES).nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  image_config: z
    .object({
      size: z.string().nullish(),
      image_size: z.string().nullish(),
      quality: z.string().nullish(),
      aspect_ratio: z.string().nullish(),
    })
    .nullish(),
  allow_fallbacks: z.boolean().nullish(),
  models: z.array(name).max(MOST_FALLBACK_MODELS).nullish(),
  provider: z
    .object({
      allow_fallbacks: z.boolean().nullish(),
      order: providers,
      only: providers,
      ignore: providers,
    })
    .nullish(),
})

/** @throws invalid_request, unsupported_modality, invalid_image, too_many_images */
export function readChatRequest({ fields, bytes }: Body): ChatRequest {
  const parsed = chatForm.safeParse(fields)
  if (!parsed.success) throw toInvalidRequest(parsed.error.issues)
  const read = parsed.data
  demandNoKey(read.model, 'model')
  for (const model of read.models ?? []) demandNoKey(model, 'models')
  const pictures = readMessages(read.messages)
  const wantsImages = readModalities(read.modalities ?? [])
  return {
    model: read.model,
    body: toForwardedBody(fields, wantsImages),
    stream: read.stream ?? false,
    includeUsage: read.stream_options?.include_usage ?? true,
    wantsImages,
    image: {
      resolution: read.image_config?.size ?? read.image_config?.image_size ?? undefined,
      quality: read.image_config?.quality ?? undefined,
    },
    endUser: read.user || null,
    choices: read.n ?? 1,
    maxOutputTokens: read.max_completion_tokens ?? read.max_tokens ?? null,
    textBytes: bytes - pictures.bytes,
    inputImages: pictures.count,
    ...(pictures.earlier > 0 && { earlierImages: pictures.earlier }),
    allowFallbacks: read.allow_fallbacks ?? read.provider?.allow_fallbacks ?? true,
    ...((read.models || read.provider) && { routing: toRouting(read.models, read.provider) }),
  }
}

const toRouting = (
  models: z.output<typeof chatForm>['models'],
  provider: z.output<typeof chatForm>['provider'],
): Routing => ({
  models: models ?? [],
  order: provider?.order ?? [],
  only: provider?.only ?? [],
  ignore: provider?.ignore ?? [],
})

function toInvalidRequest(issues: readonly z.core.$ZodIssue[]): GatewayError {
  const issue = issues[0]
  const param = renderPath(issue?.path ?? [])
  return new GatewayError('invalid_request', `${param}: ${issue?.message}`, { param })
}

/** `["models", 2]` → `models[2]` */
const renderPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${step}]` : `${text}${text && '.'}${String(step)}`,
    '',
  )

/** Whether pictures are asked for; order and repetition do not matter (contract §7). */
function readModalities(modalities: readonly string[]): boolean {
  const unknown = modalities.find((modality) => modality !== 'text' && modality !== 'image')
  if (unknown !== undefined) {
    throw new GatewayError(
      'unsupported_modality',
      'modalities: the gateway answers with "text" and "image"',
      { param: 'modalities' },
    )
  }
  return modalities.includes('image')
}

/** What an upstream is told: everything but routing, nulls, and the modalities of an answer in plain text. */
function toForwardedBody(fields: JsonObject, wantsImages: boolean): JsonObject {
  const forwarded: Record<string, unknown> = {}
  for (const field of Object.keys(fields)) {
    const value = fields[field]
    if (value === null || isOurs(field) || (field === 'modalities' && !wantsImages)) continue
    forwarded[field] = value
  }
  return forwarded
}

/** Routing is the gateway's own; `__proto__` is nobody's, and assigning it would change what the object is. */
const isOurs = (field: string): boolean =>
  field === 'allow_fallbacks' || field === 'provider' || field === 'models' || field === '__proto__'
