/** Ours: the content of an item as parts of a conversation. */
import type { JsonObject } from '#domain/chat.ts'
import type { MediaPart, ResultPart, Source } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { toSource } from '../to-source.ts'

type ContentPart = ResultPart['parts'][number]

/** `content` is a string or a list of parts; `path` is its field's. */
export function toParts(content: unknown, path: string): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', path, text: content }]
  return readList(content).flatMap((part, i) =>
    isObject(part) ? toPart(part, `${path}[${i}]`) : [],
  )
}

function toPart(part: JsonObject, path: string): ContentPart {
  const { type } = part
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
      return { type: 'text', path, text: readString(part['text']) ?? '', ...toCacheMark(part) }
    case 'refusal':
      return { type: 'text', path, text: readString(part['refusal']) ?? '' }
    case 'input_image':
    case 'computer_screenshot':
      return {
        type: 'image',
        path: `${path}.image_url`,
        word: type,
        source: toSource(part['image_url']),
        ...toCacheMark(part),
      }
    case 'input_file':
      return { ...toDocument(part, path), ...toCacheMark(part) }
    case 'input_audio':
      return toAudio(readObject(part['input_audio']), `${path}.input_audio`)
    default:
      return { type: 'unknown', path, word: readText(type) ?? '' }
  }
}

/** Data may come without saying that it is data; then its name says what it is, else it is a PDF. */
function toDocument(
  { file_data: data, file_url: url, filename }: JsonObject,
  path: string,
): MediaPart {
  const title = readText(filename)
  const inline = readText(data)
  const source: Source =
    inline === undefined || inline.startsWith('data:')
      ? toSource(inline ?? url)
      : { type: 'base64', mediaType: typeOf(title), data: inline }
  return {
    type: 'document',
    path: `${path}.${inline === undefined ? 'file_url' : 'file_data'}`,
    word: 'input_file',
    source,
    ...(title !== undefined && { title }),
  }
}

const typeOf = (title = ''): string => (/\.(?:txt|md|csv)$/i.test(title) ? 'text/plain' : PDF)

const PDF = 'application/pdf'

function toAudio({ data, format }: JsonObject, path: string): MediaPart {
  const isInline = typeof data === 'string' && typeof format === 'string'
  const source: Source = isInline
    ? { type: 'base64', mediaType: `audio/${format.toLowerCase()}`, data }
    : { type: 'reference' }
  return { type: 'audio', path, word: 'input_audio', source }
}
