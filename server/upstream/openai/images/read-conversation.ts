/** Ours → theirs: a conversation as one prompt and input images, for models that only generate images. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readText } from '#domain/json.ts'

export interface ImagePrompt {
  readonly prompt: string
  /** URLs as the client sent them, in order. */
  readonly images: readonly string[]
}

/**
 * A single message is the prompt, unchanged. Otherwise: system and developer messages, then the earlier turns with their roles,
 * then the last user message. The images are those of the latest message that has any, assistant messages included, so that
 * "now in blue" refers to the image just generated.
 */
export function readConversation(body: JsonObject): ImagePrompt {
  const messages = readList(body['messages']).filter(isObject)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const wishes = messages.filter(isInstruction).map(textOf)
  const earlier = messages
    .slice(0, Math.max(last, 0))
    .filter((message) => !isInstruction(message) && textOf(message) !== '')
    .map((message) => `${String(message['role'])}: ${textOf(message)}`)
  const parts = [
    ...wishes,
    earlier.length > 0 ? `Earlier in this conversation:\n${earlier.join('\n')}` : '',
    textOf(messages[last] ?? {}),
  ]
  const images = messages.map(imagesOf).findLast((found) => found.length > 0)
  return { prompt: parts.filter((part) => part !== '').join('\n\n'), images: images ?? [] }
}

const isInstruction = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer'

function textOf({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  return readList(content)
    .flatMap((part) => (isObject(part) ? (readText(part['text']) ?? []) : []))
    .join('\n')
}

function imagesOf({ content, images }: JsonObject): readonly string[] {
  return [...readList(content), ...readList(images)].flatMap((part) => {
    const holder = isObject(part) ? part['image_url'] : undefined
    return (isObject(holder) ? readText(holder['url']) : undefined) ?? []
  })
}
