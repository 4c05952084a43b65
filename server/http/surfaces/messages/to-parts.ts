/** The content of a message, of the system prompt or of a tool's result as parts of a conversation. */
import type { JsonObject } from '#domain/chat.ts'
import type { MediaPart, Part, ResultPart, Source } from '#domain/conversation.ts'
import { readList, readObject, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'

export type ContentPart = ResultPart['parts'][number]

/** `content` is a string or a list of blocks; `path` is its field's. Empty texts are dropped. */
export const toParts = (content: unknown, path: string): readonly ContentPart[] =>
  toBlocks(content, path, () => null)

/** The same; `toOther` reads the blocks that only stand among a message's own, and answers null for the others. */
export function toBlocks<Other extends Part>(
  content: unknown,
  path: string,
  toOther: (block: JsonObject, path: string) => readonly Other[] | null,
): readonly (ContentPart | Other)[] {
  if (typeof content === 'string') return toText(content, path, NOTHING)
  if (!Array.isArray(content)) return [toUnknown(undefined, path)]
  return content.flatMap((value, i): readonly (ContentPart | Other)[] => {
    const block = readObject(value)
    const at = `${path}[${i}]`
    return toOther(block, at) ?? toContent(block, at)
  })
}

const NOTHING: JsonObject = {}

/** For the refusal of a provider, which names it. */
export const toUnknown = (word: unknown, path: string): ContentPart => ({
  type: 'unknown',
  path,
  word: readText(word) ?? '',
})

function toContent(block: JsonObject, path: string): readonly ContentPart[] {
  const { type, text, source } = block
  switch (type) {
    case 'text':
      return typeof text === 'string' ? toText(text, path, block) : [toUnknown(type, path)]
    case 'image':
      return [toMedia('image', readObject(source), path, block)]
    case 'document':
      return toDocument(block, readObject(source), path)
    case 'search_result':
      return toSearchResult(block, path)
    // The tool that a search found; all of them are declared.
    case 'tool_reference':
      return toText(readText(block['tool_name']) ?? '', path, block)
    default:
      return [toUnknown(type, path)]
  }
}

const toText = (text: string, path: string, marked: JsonObject): readonly ContentPart[] =>
  text === '' ? [] : [{ type: 'text', path, text, ...toCacheMark(marked) }]

function toMedia(
  type: 'image' | 'document',
  source: JsonObject,
  path: string,
  block: JsonObject,
): MediaPart {
  const title = readText(block['title'])
  return {
    type,
    path: `${path}.source`,
    word: type,
    source: toSource(source),
    ...(title !== undefined && { title }),
    ...toCacheMark(block),
  }
}

function toSource({ type, url, data, media_type: media }: JsonObject): Source {
  if (type === 'url' && typeof url === 'string') return { type, url }
  const isInline = type === 'base64' && typeof data === 'string' && typeof media === 'string'
  return isInline ? { type, mediaType: media.toLowerCase(), data } : { type: 'reference' }
}

/** A text stands in the prompt as one, under its title; only a PDF is a file. */
function toDocument(block: JsonObject, source: JsonObject, path: string): readonly ContentPart[] {
  const { type, data, content } = source
  const heading = toHeading([block['title'], block['context']], path)
  if (type === 'text' && typeof data === 'string') {
    return [...heading, ...toText(data, path, block)]
  }
  if (type === 'content') {
    return [...heading, ...toParts(content ?? [], `${path}.source.content`)]
  }
  return [toMedia('document', source, path, block)]
}

/** What a client's own search has found. */
function toSearchResult(block: JsonObject, path: string): readonly ContentPart[] {
  const found = readList(block['content'])
  return [
    ...toHeading([block['title'], block['source']], path),
    ...toParts(found, `${path}.content`),
  ]
}

const toHeading = (lines: readonly unknown[], path: string): readonly ContentPart[] =>
  toText(lines.flatMap((line) => readText(line) ?? []).join('\n'), path, NOTHING)
