/** Reads a chat request: checks the fields that the gateway uses, messages and their attachments by hand, and passes all others through. */
import { z } from 'zod'
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Extra } from '#domain/extras.ts'
import { isObject, readNumber, readObject } from '#domain/json.ts'
import { ANY_IMAGE, type ImageChoice } from '#domain/model-card.ts'
import type { Reasoning } from '#domain/thinking.ts'
import { type Generate, OWN_FIELDS } from '#domain/work.ts'
import type { JsonBody } from '../../read/body.ts'
import { readEarlierImage } from '../../read/image-url.ts'
import { noteExtras, noteLongCaching, setExtras } from '../billed-extras.ts'
import { namesKept, refuseKeptPart } from '../kept-objects.ts'
import {
  Attachments,
  checkModels,
  commonFields,
  countImage,
  type Draft,
  MAX_MODEL_CHARS,
  MAX_TOKENS,
  MAX_USER_CHARS,
  noteSizes,
  readEndUser,
  readFallbacks,
  readRouting,
  toInvalidRequest,
  tokensField,
  userField,
} from '../read-common.ts'
import { imageSizeOf, requireOneSize } from './image-size.ts'
import { toConversation } from './to-conversation.ts'

const MAX_CHOICES = 128
/** For a shorter body, serialising again costs less than keeping the text. */
const LONG_BYTES = 2_048

const number = z.number().nullish()

/** Null means absent: client libraries send it for options that are not set. */
export const chatForm = z.object({
  ...commonFields,
  messages: z.unknown(),
  modalities: z.array(z.string()).max(16).nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  user: userField,
  safety_identifier: userField,
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  max_tokens: tokensField,
  max_completion_tokens: tokensField,
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  image_config: z
    .object({
      size: z.string().nullish(),
      image_size: z.string().nullish(),
      resolution: z.string().nullish(),
      quality: z.string().nullish(),
      aspect_ratio: z.string().nullish(),
    })
    .nullish(),
})

type ChatForm = z.output<typeof chatForm>

const isNumber = (value: unknown): boolean => Number.isFinite(value)
const isUser = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MAX_USER_CHARS
const isTokens = (value: unknown): boolean => isWhole(value, MAX_TOKENS)
const isWhole = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most

/** The form's checks for the most common fields only. */
const ORDINARY = new Map<string, (value: unknown) => boolean>([
  ['messages', () => true],
  ['model', (value) => typeof value === 'string' && value.length <= MAX_MODEL_CHARS],
  ['user', isUser],
  ['safety_identifier', isUser],
  ['stream', (value) => typeof value === 'boolean'],
  ['n', (value) => isWhole(value, MAX_CHOICES)],
  ['max_tokens', isTokens],
  ['max_completion_tokens', isTokens],
  ['temperature', isNumber],
  ['top_p', isNumber],
  ['presence_penalty', isNumber],
  ['frequency_penalty', isNumber],
])
const FORM_FIELDS = new Set(Object.keys(chatForm.shape))

/**
 * Fast path: whether the fields are certainly valid, without running the form, which allocates two objects per field even for
 * absent ones. Everything else is validated by the form.
 */
export function isOrdinary(fields: JsonObject): boolean {
  if (fields['model'] === undefined || fields['messages'] === undefined) return false
  for (const field in fields) {
    if (!FORM_FIELDS.has(field)) continue
    if (ORDINARY.get(field)?.(fields[field]) !== true) return false
  }
  return true
}

function readForm(fields: JsonObject): ChatForm {
  if (isOrdinary(fields)) return fields as ChatForm
  const parsed = chatForm.safeParse(fields)
  if (!parsed.success) throw toInvalidRequest(fields, parsed.error.issues)
  return parsed.data
}

/** @throws invalid_request, unsupported_parameter, unsupported_modality, invalid_image, too_many_images */
export function readChatRequest(body: JsonBody): Generate {
  const { fields, exact, size } = body
  const read = readForm(fields)
  checkModels(read)
  const endUser = readEndUser(read)
  const wantsImages = read.modalities ? readModalities(read.modalities) : false
  const extras: Extra[] = []
  noteExtras(fields, extras)
  const attachments = readMessages(read.messages, extras)
  const request: Draft = {
    kind: 'generate',
    dialect: 'chat',
    model: read.model,
    body: toForwardedBody(exact, wantsImages),
    conversation: toConversation,
    reasoning: readReasoning(exact),
    stream: read.stream ?? false,
    includeUsage: read.stream_options?.include_usage ?? true,
    wantsImages,
    image: read.image_config ? toImageChoice(read.image_config) : ANY_IMAGE,
    endUser,
    choices: read.n ?? 1,
    maxOutputTokens: read.max_completion_tokens ?? read.max_tokens ?? null,
    textBytes: size - attachments.bytes,
    inputImages: attachments.count,
    allowFallbacks: readFallbacks(read),
  }
  if (size >= LONG_BYTES) request.source = body
  noteSizes(request, body, attachments)
  if (extras.length > 0) setExtras(request, extras)
  const routing = readRouting(read)
  if (routing !== undefined) request.routing = routing
  return request
}

function toImageChoice(config: NonNullable<ChatForm['image_config']>): ImageChoice {
  requireOneSize(config)
  return { resolution: imageSizeOf(config), quality: config.quality ?? undefined }
}

/** Whether images are requested; order and repetition do not matter (contract §7). */
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

/**
 * The body for an upstream: without routing fields, nulls, and `modalities` of a text answer. Returns `fields` itself if
 * nothing is removed.
 */
function toForwardedBody(fields: JsonObject, wantsImages: boolean): JsonObject {
  for (const field in fields) {
    if (isKept(fields, field, wantsImages)) continue
    return Object.fromEntries(
      Object.entries(fields).filter(([name]) => isKept(fields, name, wantsImages)),
    )
  }
  return fields
}

const isKept = (fields: JsonObject, field: string, wantsImages: boolean): boolean =>
  fields[field] !== null && !isOurs(field) && (field !== 'modalities' || wantsImages)

/** The gateway's own routing fields; and `__proto__`, because assigning it would change the object's prototype. */
const isOurs = (field: string): boolean => OWN_FIELDS.includes(field) || field === '__proto__'

export const MAX_MESSAGES = 10_000
export const MAX_PARTS = 10_000
export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const
const KNOWN_ROLES = new Set<unknown>(ROLES)

/** @throws invalid_request, unsupported_parameter, invalid_image, too_many_images; `param` is the path to the field */
function readMessages(messages: unknown, extras: Extra[]): Readonly<Attachments> {
  if (!Array.isArray(messages)) throw invalid('messages', 'must be an array of messages')
  if (messages.length === 0) throw invalid('messages', 'must hold at least one message')
  if (messages.length > MAX_MESSAGES) {
    throw invalid('messages', `may hold at most ${MAX_MESSAGES} messages`)
  }
  const attachments = new Attachments()
  for (let i = 0; i < messages.length; i++) readMessage(messages[i], i, attachments, extras)
  return attachments
}

function readMessage(
  message: unknown,
  index: number,
  attachments: Attachments,
  extras: Extra[],
): void {
  if (!isObject(message)) throw invalid(`messages[${index}]`, 'must be an object')
  const { role, content } = message
  if (!KNOWN_ROLES.has(role)) {
    throw invalid(
      `messages[${index}].role`,
      'must be one of system, developer, user, assistant, tool',
    )
  }
  if ('cache_control' in message) noteLongCaching(message, `messages[${index}]`, extras)
  if (role === 'assistant') readEarlier(message, `messages[${index}]`, attachments)
  if (Array.isArray(content)) {
    readParts(content, index, attachments, extras)
    return
  }
  const absent = content === null || content === undefined
  if (typeof content === 'string' || (absent && role === 'assistant')) return
  throw invalid(`messages[${index}].content`, 'must be a string or an array of content parts')
}

function readParts(
  parts: readonly unknown[],
  index: number,
  attachments: Attachments,
  extras: Extra[],
): void {
  if (parts.length > MAX_PARTS) {
    throw invalid(`messages[${index}].content`, `may hold at most ${MAX_PARTS} parts`)
  }
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]
    if (!isObject(part)) throw invalid(`messages[${index}].content[${i}]`, 'must be an object')
    if ('cache_control' in part) {
      noteLongCaching(part, `messages[${index}].content[${i}]`, extras)
    }
    if (part['type'] !== 'text') {
      readPart(part, `messages[${index}].content[${i}]`, attachments)
    } else if (typeof part['text'] !== 'string') {
      throw invalid(`messages[${index}].content[${i}].text`, 'must be a string')
    }
  }
}

function readPart(part: JsonObject, path: string, attachments: Attachments): void {
  if (part['type'] === 'image_url') {
    readImage(part['image_url'], `${path}.image_url`, attachments)
  } else if (typeof part['type'] !== 'string') {
    throw invalid(`${path}.type`, 'must be a string')
  } else if (!WORDS.has(part['type'])) {
    attachments.files++
    attachments.fileBytes += inlineChars(part)
  }
  refuseKeptPart(part, path)
}

/** Part types that are text, which is entirely in the body. */
const WORDS: ReadonlySet<unknown> = new Set([
  'refusal',
  'thinking',
  'reasoning',
  'redacted_thinking',
])

/** Bytes of base64 in a part; 0 if it only has an address. */
function inlineChars(part: Record<string, unknown>): number {
  const { file, input_audio: sound } = part
  const data = isObject(file) ? file['file_data'] : isObject(sound) ? sound['data'] : undefined
  return typeof data === 'string' && !/^[a-z][a-z\d+.-]*:\/\//i.test(data) ? data.length : 0
}

function readImage(image: unknown, path: string, attachments: Attachments): void {
  if (!isObject(image)) throw invalid(path, 'must be an object with a url')
  if (typeof image['url'] !== 'string') throw invalid(`${path}.url`, 'must be a string')
  countImage(image['url'], `${path}.url`, attachments, 'messages')
}

/** What an earlier answer brought beside its words. Its sound is at the provider, by its id. */
function readEarlier({ images, audio }: JsonObject, path: string, attachments: Attachments): void {
  if (isObject(audio)) throw namesKept(`${path}.audio.id`, 'send its words as "content"')
  if (!Array.isArray(images)) return
  for (const [i, image] of images.entries()) {
    if (isObject(image)) refuseKeptPart(image, `${path}.images[${i}]`)
    countEarlier(image, attachments)
  }
}

/** Images of earlier answers do not count against the limit, because clients send back answers unchanged. */
function countEarlier(image: unknown, attachments: Attachments): void {
  const holder = isObject(image) ? image['image_url'] : undefined
  const url = isObject(holder) ? holder['url'] : undefined
  const bytes = typeof url === 'string' ? readEarlierImage(url) : null
  if (bytes === null) return
  attachments.count++
  attachments.earlier++
  attachments.bytes += bytes
}

const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_request', `${param} ${problem}`, { param })

/**
 * How the model is to think: `reasoning_effort`, OpenRouter's `reasoning`, Anthropic's `thinking`. Null where none of them says
 * anything. OpenAI's own word goes before OpenRouter's object.
 */
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
