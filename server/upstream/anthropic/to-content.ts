/** Ours → theirs: message parts as content blocks: texts, images, documents. */
import type {
  Base64ImageSource,
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'

export type ContentBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/i
const IMAGE_TYPES: Readonly<Record<string, Base64ImageSource['media_type']>> = {
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/jpg': 'image/jpeg',
  'image/gif': 'image/gif',
  'image/webp': 'image/webp',
}

/** `content` is a string or a list of parts. @throws UpstreamFailure `rejected` for an unsupported part */
export const toContent = (content: unknown, path: string): readonly ContentBlock[] =>
  toParts(content).flatMap((part) => toBlock(part, path))

/** The same where only text is allowed. @throws UpstreamFailure `rejected` */
export const toText = (content: unknown, path: string): readonly TextBlockParam[] =>
  toParts(content).flatMap((part) => {
    const { type } = part
    if (type !== 'text' && type !== 'refusal') {
      throw rejected(path, `only text may stand here, not "${String(type)}"`)
    }
    return toTextBlock(part['text'] ?? part['refusal'], part)
  })

/** Passes `cache_control` on without its `ttl`, because a model has only one price for cache writes. */
export const toCacheMark = (part: JsonObject): { cache_control?: { type: 'ephemeral' } } =>
  isObject(part['cache_control']) ? { cache_control: { type: 'ephemeral' } } : {}

const toParts = (content: unknown): readonly JsonObject[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : readList(content).filter(isObject)

/** Blank texts are dropped: this API refuses them, others ignore them. */
function toTextBlock(text: unknown, part: JsonObject): readonly TextBlockParam[] {
  if (typeof text !== 'string' || text.trim() === '') return []
  return [{ type: 'text', text, ...toCacheMark(part) }]
}

function toBlock(part: JsonObject, path: string): readonly ContentBlock[] {
  switch (part['type']) {
    case 'text':
      return toTextBlock(part['text'], part)
    case 'image_url':
      return [{ ...toImage(part, path), ...toCacheMark(part) }]
    case 'file':
      return [{ ...toDocument(readObject(part['file']), path), ...toCacheMark(part) }]
    default:
      throw rejected(path, `this model takes no part of type "${String(part['type'])}"`)
  }
}

function toImage(part: JsonObject, path: string): ImageBlockParam {
  const url = readText(readObject(part['image_url'])['url']) ?? ''
  const head = DATA_URL.exec(url)
  if (head === null) return { type: 'image', source: { type: 'url', url } }
  const kind = IMAGE_TYPES[(head[1] ?? '').toLowerCase()]
  if (kind === undefined) {
    throw rejected(path, `an image must be a PNG, JPEG, GIF or WebP, not ${head[1]}`)
  }
  const data = url.slice(head[0].length)
  return { type: 'image', source: { type: 'base64', media_type: kind, data } }
}

function toDocument(file: JsonObject, path: string): DocumentBlockParam {
  const url = readText(file['file_data']) ?? ''
  const head = DATA_URL.exec(url)
  if (head?.[1]?.toLowerCase() !== 'application/pdf') {
    throw rejected(path, 'a file must hold a PDF as "data:application/pdf;base64,…"')
  }
  const title = readText(file['filename'])
  return {
    type: 'document',
    source: {
      type: 'base64',
      media_type: 'application/pdf',
      data: url.slice(head[0].length),
    },
    ...(title !== undefined && { title }),
  }
}
