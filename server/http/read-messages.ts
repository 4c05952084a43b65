/** Reads the messages of a request by hand: they carry the attachments, which have to be found, checked and counted anyway. */
import { GatewayError } from '#domain/errors.ts'
import { checkImageUrl, MOST_INPUT_IMAGES, readEarlierImage } from './image-url.ts'

export const MOST_MESSAGES = 10_000
export const MOST_PARTS = 10_000
export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const
const KNOWN_ROLES = new Set<unknown>(ROLES)

/** What a conversation carries beside its text. */
export interface Attachments {
  /** Parts that only name what they bring, by an address or an id: nobody here knows how large it is. */
  named: number
  /** Of files and sounds, bytes of base64 in the body. */
  fileBytes: number
  /** Attachments. */
  count: number
  /** Of those, pictures of earlier answers. */
  earlier: number
  /** Of attachments, bytes of base64 in the body. */
  bytes: number
}

/** @throws invalid_request, invalid_image, too_many_images; `param` is the path to the field */
export function readMessages(messages: unknown): Readonly<Attachments> {
  if (!Array.isArray(messages)) throw invalid('messages', 'must be an array of messages')
  if (messages.length === 0) throw invalid('messages', 'must hold at least one message')
  if (messages.length > MOST_MESSAGES) {
    throw invalid('messages', `may hold at most ${MOST_MESSAGES} messages`)
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
  if (parts.length > MOST_PARTS) {
    throw invalid(`messages[${index}].content`, `may hold at most ${MOST_PARTS} parts`)
  }
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]
    if (!isObject(part)) throw invalid(`messages[${index}].content[${i}]`, 'must be an object')
    if (part['type'] === 'text') {
      if (typeof part['text'] !== 'string') {
        throw invalid(`messages[${index}].content[${i}].text`, 'must be a string')
      }
    } else if (part['type'] === 'image_url') {
      readPicture(part['image_url'], `messages[${index}].content[${i}].image_url`, attachments)
    } else if (typeof part['type'] !== 'string') {
      throw invalid(`messages[${index}].content[${i}].type`, 'must be a string')
    } else {
      const chars = inlineChars(part)
      attachments.fileBytes += chars
      if (chars === 0 && !WORDS.has(part['type'])) attachments.named++
    }
  }
}

/** Parts that are words, all of which the body holds. */
const WORDS: ReadonlySet<unknown> = new Set([
  'refusal',
  'thinking',
  'reasoning',
  'redacted_thinking',
])

/** Characters of base64 in a part, each of them a byte; 0 where it only names what it brings. */
function inlineChars(part: Record<string, unknown>): number {
  const { file, input_audio: sound } = part
  const data = isObject(file) ? file['file_data'] : isObject(sound) ? sound['data'] : undefined
  return typeof data === 'string' && !/^[a-z][a-z\d+.-]*:\/\//i.test(data) ? data.length : 0
}

function readPicture(image: unknown, path: string, attachments: Attachments): void {
  if (!isObject(image)) throw invalid(path, 'must be an object with a url')
  if (typeof image['url'] !== 'string') throw invalid(`${path}.url`, 'must be a string')
  attachments.count++
  const own = attachments.count - attachments.earlier
  if (own > MOST_INPUT_IMAGES) throw tooMany(own)
  attachments.bytes += checkImageUrl(image['url'], `${path}.url`)
}

const tooMany = (images: number): GatewayError =>
  new GatewayError('too_many_images', `a request may carry at most ${MOST_INPUT_IMAGES} images`, {
    param: 'messages',
    metadata: {
      limit: 'input_images',
      limit_value: MOST_INPUT_IMAGES,
      used: images,
      resets_at: null,
    },
  })

/** An answer is sent back as it was given, with as many pictures as a conversation has drawn: none is one too many. */
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
