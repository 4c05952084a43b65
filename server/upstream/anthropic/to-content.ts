/** Ours → theirs: parts as content blocks: texts, images, documents. */
import type {
  Base64ImageSource,
  CacheControlEphemeral,
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { CacheMark, MediaPart, Part, Source, TextPart } from '#domain/conversation.ts'
import { rejected, sayPart } from '../rejected.ts'

export type ContentBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam

const IMAGE_TYPES: Readonly<Record<string, Base64ImageSource['media_type']>> = {
  'image/png': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/jpg': 'image/jpeg',
  'image/gif': 'image/gif',
  'image/webp': 'image/webp',
}

/** `path` is that of the content. @throws UpstreamFailure `rejected` for an unsupported part */
export const toContent = (parts: readonly Part[], path: string): readonly ContentBlock[] =>
  parts.flatMap((part) => toBlock(part, path))

/** The same where only text is allowed. @throws UpstreamFailure `rejected` */
export const toText = (parts: readonly Part[], path: string): readonly TextBlockParam[] =>
  parts.flatMap((part) => {
    if (part.type === 'text') return toTextBlock(part)
    throw rejected(path, `only text may stand here, not a ${sayPart(part)}`)
  })

/** For an hour where the mark says so: a request with such a mark comes here only where the card has a price for it. */
export const toCacheMark = ({
  cacheMark,
}: {
  readonly cacheMark?: CacheMark
}): { cache_control?: CacheControlEphemeral } =>
  cacheMark
    ? { cache_control: { type: 'ephemeral', ...(cacheMark.ttl === '1h' && { ttl: '1h' }) } }
    : {}

/** Blank texts are dropped: this API refuses them, others ignore them. */
const toTextBlock = (part: TextPart): readonly TextBlockParam[] =>
  part.text.trim() === '' ? [] : [{ type: 'text', text: part.text, ...toCacheMark(part) }]

function toBlock(part: Part, path: string): readonly ContentBlock[] {
  switch (part.type) {
    case 'text':
      return toTextBlock(part)
    case 'image':
      return [{ type: 'image', source: toImageSource(part.source, path), ...toCacheMark(part) }]
    case 'document':
      return [{ ...toDocument(part, path), ...toCacheMark(part) }]
    default:
      throw rejected(path, `this model takes no ${sayPart(part)}`)
  }
}

function toImageSource(source: Source, path: string): ImageBlockParam['source'] {
  if (source.type === 'url') return source
  if (source.type === 'reference') throw rejected(path, 'an image must have an address or data')
  const kind = IMAGE_TYPES[source.mediaType]
  if (kind === undefined) {
    throw rejected(path, `an image must be a PNG, JPEG, GIF or WebP, not ${source.mediaType}`)
  }
  return { type: 'base64', media_type: kind, data: source.data }
}

const PDF = 'application/pdf'

function toDocument({ source, title }: MediaPart, path: string): DocumentBlockParam {
  if (source.type !== 'base64' || source.mediaType !== PDF) {
    throw rejected(path, 'a file must hold a PDF as "data:application/pdf;base64,…"')
  }
  return {
    type: 'document',
    source: { type: 'base64', media_type: PDF, data: source.data },
    ...(title !== undefined && { title }),
  }
}
