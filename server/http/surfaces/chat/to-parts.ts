/** A message's content as parts of a conversation. */
import type { JsonObject } from '#domain/chat.ts'
import type { MediaPart, ResultPart } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { toSource } from '../to-source.ts'

export type ContentPart = ResultPart['parts'][number]

/** `content` is a string or a list of parts; `path` is its field's. */
export function toParts(content: unknown, path: string): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', path, text: content }]
  const parts: ContentPart[] = []
  const list = readList(content)
  for (let i = 0; i < list.length; i++) {
    const part = list[i]
    if (isObject(part)) parts.push(toPart(part, `${path}[${i}]`))
  }
  return parts
}

function toPart(part: JsonObject, path: string): ContentPart {
  const { type } = part
  switch (type) {
    case 'text':
    case 'refusal': {
      const text = readString(part['text']) ?? readString(part['refusal']) ?? ''
      return { type: 'text', path, text, ...toCacheMark(part) }
    }
    case 'image_url':
      return { ...toImage(part, type, `${path}.image_url.url`), ...toCacheMark(part) }
    case 'input_audio':
      return toAudio(readObject(part['input_audio']), type, `${path}.input_audio`)
    case 'file': {
      const document = toDocument(readObject(part['file']), type, `${path}.file.file_data`)
      return { ...document, ...toCacheMark(part) }
    }
    default:
      return { type: 'unknown', path, word: readText(type) ?? '' }
  }
}

function toImage(holder: JsonObject, word: string, path: string): MediaPart {
  const { url, detail } = readObject(holder['image_url'])
  const source = toSource(url)
  const how = readText(detail)
  return { type: 'image', path, word, source, ...(how !== undefined && { detail: how }) }
}

function toDocument(file: JsonObject, word: string, path: string): MediaPart {
  const title = readText(file['filename'])
  const source = toSource(file['file_data'])
  return { type: 'document', path, word, source, ...(title !== undefined && { title }) }
}

function toAudio({ data, format }: JsonObject, word: string, path: string): MediaPart {
  const isInline = typeof data === 'string' && typeof format === 'string'
  const source = toSource(isInline ? `data:audio/${format};base64,${data}` : null)
  return { type: 'audio', path, word, source }
}

/** The images of an earlier answer, which clients send back in `images`. */
export const toDrawnImages = (images: unknown, path: string): readonly MediaPart[] =>
  readList(images)
    .filter(isObject)
    .map((image, i) => ({
      ...toImage(image, 'image_url', `${path}[${i}]`),
      isDrawn: true,
    }))
