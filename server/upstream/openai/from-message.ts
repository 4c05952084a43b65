/** Theirs → ours: a message or delta as events, in the order in which models produce them. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readText, readUnknownFields } from '../read-json.ts'
import { fromImagePart, type ImageReader } from './from-image.ts'
import { noteToolCall, type ToolCalls } from './tool-calls.ts'

const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'reasoning',
  'reasoning_content',
  'refusal',
  'tool_calls',
  'images',
])

/**
 * Appends the events of one message or delta. `logprobs` belongs to its text. With `fromAnyImagePart` remote images pass, and
 * the caller must fetch them.
 */
export function fromMessage(
  message: JsonObject,
  choice: number,
  logprobs: unknown,
  toolCalls: ToolCalls,
  into: ChatEvent[],
  readImageUrl: ImageReader = fromImagePart,
): void {
  const reasoning = readText(message['reasoning_content']) ?? readText(message['reasoning'])
  if (reasoning !== undefined) into.push({ type: 'reasoning-delta', choice, text: reasoning })

  const refusal = readText(message['refusal'])
  const about = hasLogprobs(logprobs) ? logprobs : undefined
  fromContent(
    message['content'],
    choice,
    refusal === undefined ? about : undefined,
    into,
    readImageUrl,
  )
  if (refusal !== undefined) {
    into.push({ type: 'refusal-delta', choice, text: refusal, ...(about && { logprobs: about }) })
  }

  const { images, tool_calls: calls } = message
  if (images !== undefined) fromImages(images, choice, into, readImageUrl)
  if (calls !== undefined) {
    for (const entry of readList(calls)) {
      const delta = noteToolCall(toolCalls, choice, entry)
      if (delta) into.push(delta)
    }
  }
  const fields = readUnknownFields(message, KNOWN_FIELDS)
  if (fields) into.push({ type: 'message-fields', choice, fields })
}

/** `content` is a text, null, or a list of parts (Mistral's thinking). */
function fromContent(
  content: unknown,
  choice: number,
  logprobs: object | undefined,
  into: ChatEvent[],
  readImageUrl: ImageReader,
): void {
  if (Array.isArray(content)) {
    for (const part of content) fromPart(part, choice, into, readImageUrl)
    return
  }
  const text = typeof content === 'string' ? content : ''
  if (logprobs) into.push({ type: 'text-delta', choice, text, logprobs })
  else if (text !== '') into.push({ type: 'text-delta', choice, text })
}

function fromPart(
  part: unknown,
  choice: number,
  into: ChatEvent[],
  readImageUrl: ImageReader,
): void {
  if (typeof part === 'string') {
    if (part !== '') into.push({ type: 'text-delta', choice, text: part })
    return
  }
  if (!isObject(part)) return
  const text = readText(part['text'])
  if (part['type'] === 'thinking') {
    const thought = toThought(part['thinking'])
    if (thought !== '') into.push({ type: 'reasoning-delta', choice, text: thought })
  } else if (text !== undefined) {
    into.push({ type: 'text-delta', choice, text })
  } else {
    fromImages([part], choice, into, readImageUrl)
  }
}

function toThought(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return readList(thinking)
    .map((piece) => (isObject(piece) ? (readText(piece['text']) ?? '') : ''))
    .join('')
}

function fromImages(
  images: unknown,
  choice: number,
  into: ChatEvent[],
  readImageUrl: ImageReader,
): void {
  for (const part of readList(images)) {
    const url = readImageUrl(part)
    if (url !== undefined) into.push({ type: 'image', choice, url })
  }
}

function hasLogprobs(value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  return readList(value['content']).length > 0 || readList(value['refusal']).length > 0
}
