/** Ours → theirs: a conversation as the one text and the pictures that a model which only draws can take. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readText } from '../../read-json.ts'

export interface Asked {
  readonly prompt: string
  /** Addresses as the client wrote them, in its order. */
  readonly pictures: readonly string[]
}

/**
 * A single message is the prompt, word for word. Otherwise: what system and developer say, then the earlier turns under their
 * names, then the last user message. The pictures are those of the latest message that has any, an answer's own included, so
 * that "now in blue" is about the picture just drawn.
 */
export function readConversation(body: JsonObject): Asked {
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
  const pictures = messages.map(picturesOf).findLast((found) => found.length > 0)
  return { prompt: parts.filter((part) => part !== '').join('\n\n'), pictures: pictures ?? [] }
}

const isInstruction = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer'

function textOf({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  return readList(content)
    .flatMap((part) => (isObject(part) ? (readText(part['text']) ?? []) : []))
    .join('\n')
}

function picturesOf({ content, images }: JsonObject): readonly string[] {
  return [...readList(content), ...readList(images)].flatMap((part) => {
    const holder = isObject(part) ? part['image_url'] : undefined
    return (isObject(holder) ? readText(holder['url']) : undefined) ?? []
  })
}
