/** Ours → theirs: parts of content. Empty text is left out, because Gemini refuses it. */
import type { Part, Source } from '#domain/conversation.ts'
import { rejected, rejectPart } from '../rejected.ts'
import type { Part as WirePart } from './wire.ts'

/** One part, or none. @throws UpstreamFailure `rejected` */
export function toPart(part: Part): readonly WirePart[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ text: part.text }]
    case 'image':
    case 'document':
    case 'audio':
      return [toMedia(part.source, part.path)]
    case 'unknown':
    case 'server-call':
    case 'server-result':
      throw rejectPart(part)
    default:
      return []
  }
}

/** Data is sent inline; an https URL is fetched by Google, never by the gateway. */
function toMedia(source: Source, path: string): WirePart {
  if (source.type === 'base64') {
    return { inlineData: { mimeType: source.mediaType, data: source.data } }
  }
  if (source.type === 'reference' || !/^https:\/\//i.test(source.url)) {
    throw rejected(path, 'must be a data URL or an https address')
  }
  const mimeType = guessType(source.url)
  return { fileData: { fileUri: source.url, ...(mimeType !== undefined && { mimeType }) } }
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
}

/** By the file extension; without one Google detects the type. */
function guessType(address: string): string | undefined {
  const ending = /\.([a-z]{3,4})$/i.exec(URL.parse(address)?.pathname ?? '')?.[1]?.toLowerCase()
  return ending !== undefined && Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined
}
