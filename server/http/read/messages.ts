/** Validates messages by hand, because their attachments must be found, checked and counted anyway. */
import { GatewayError } from '#domain/errors.ts'
import { rejectLongCaching } from './billed-extras.ts'
import { checkImageUrl, MAX_INPUT_IMAGES, readEarlierImage } from './image-url.ts'

export const MAX_MESSAGES = 10_000
export const MAX_PARTS = 10_000
export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const
const KNOWN_ROLES = new Set<unknown>(ROLES)

export interface Attachments {
  /** Parts that refer to a file by URL or id, whose size is unknown. */
  named: number
  /** Bytes of base64 of files and audio in the body. */
  fileBytes: number
  /** Input images. */
  count: number
  /** Of those, images of earlier answers. */
  earlier: number
  /** Bytes of base64 of images in the body. */
  bytes: number
}

/** @throws invalid_request, unsupported_parameter, invalid_image, too_many_images; `param` is the path to the field */
export function readMessages(messages: unknown): Readonly<Attachments> {
  if (!Array.isArray(messages)) throw invalid('messages', 'must be an array of messages')
  if (messages.length === 0) throw invalid('messages', 'must hold at least one message')
  if (messages.length > MAX_MESSAGES) {
    throw invalid('messages', `may hold at most ${MAX_MESSAGES} messages`)
  }
  const attachments: Attachments = { named: 0, fileBytes: 0, count: 0, earlier: 0, bytes: 0 }
  for (let i = 0; i < messages.length; i++) readMessage(messages[i], i, attachments)
  return attachments
}

function readMessage(message: unknown, index: number, attachments: Attachments): void {
  if (!isObject(message)) throw invalid(`messages[${index}]`, 'must be an object')
  const { role, content } = message
  if (!KNOWN_ROLES.has(role)) {
    throw invalid(
      `messages[${index}].role`,
      'must be one of system, developer, user, assistant, tool',
    )
  }
  if ('cache_control' in message) rejectLongCaching(message, `messages[${index}]`)
  if (role === 'assistant' && Array.isArray(message['images'])) {
    for (const image of message['images']) countEarlier(image, attachments)
  }
  if (Array.isArray(content)) {
    readParts(content, index, attachments)
    return
  }
  const absent = content === null || content === undefined
  if (typeof content === 'string' || (absent && role === 'assistant')) return
  throw invalid(`messages[${index}].content`, 'must be a string or an array of content parts')
}

function readParts(parts: readonly unknown[], index: number, attachments: Attachments): void {
  if (parts.length > MAX_PARTS) {
    throw invalid(`messages[${index}].content`, `may hold at most ${MAX_PARTS} parts`)
  }
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]
    if (!isObject(part)) throw invalid(`messages[${index}].content[${i}]`, 'must be an object')
    if ('cache_control' in part) rejectLongCaching(part, `messages[${index}].content[${i}]`)
    if (part['type'] === 'text') {
      if (typeof part['text'] !== 'string') {
        throw invalid(`messages[${index}].content[${i}].text`, 'must be a string')
      }
    } else if (part['type'] === 'image_url') {
      readImage(part['image_url'], `messages[${index}].content[${i}].image_url`, attachments)
    } else if (typeof part['type'] !== 'string') {
      throw invalid(`messages[${index}].content[${i}].type`, 'must be a string')
    } else {
      const chars = inlineChars(part)
      attachments.fileBytes += chars
      if (chars === 0 && !WORDS.has(part['type'])) attachments.named++
    }
  }
}

/** Part types that are text, which is entirely in the body. */
const WORDS: ReadonlySet<unknown> = new Set([
  'refusal',
  'thinking',
  'reasoning',
  'redacted_thinking',
])

/** Bytes of base64 in a part; 0 if it only refers to a file. */
function inlineChars(part: Record<string, unknown>): number {
  const { file, input_audio: sound } = part
  const data = isObject(file) ? file['file_data'] : isObject(sound) ? sound['data'] : undefined
  return typeof data === 'string' && !/^[a-z][a-z\d+.-]*:\/\//i.test(data) ? data.length : 0
}

function readImage(image: unknown, path: string, attachments: Attachments): void {
  if (!isObject(image)) throw invalid(path, 'must be an object with a url')
  if (typeof image['url'] !== 'string') throw invalid(`${path}.url`, 'must be a string')
  attachments.count++
  const own = attachments.count - attachments.earlier
  if (own > MAX_INPUT_IMAGES) throw tooMany(own)
  attachments.bytes += checkImageUrl(image['url'], `${path}.url`)
}

const tooMany = (images: number): GatewayError =>
  new GatewayError('too_many_images', `a request may carry at most ${MAX_INPUT_IMAGES} images`, {
    param: 'messages',
    metadata: {
      limit: 'input_images',
      limit_value: MAX_INPUT_IMAGES,
      used: images,
      resets_at: null,
    },
  })

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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (param: string, problem: string): GatewayError =>
  new GatewayError('invalid_request', `${param} ${problem}`, { param })
