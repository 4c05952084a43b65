/** Images, documents and sounds as OpenAI's wires have them: in data URLs, and in fields that are the same in all of them. */
import type { JsonObject } from '#domain/chat.ts'
import type { MediaPart } from '#domain/conversation.ts'
import { rejected } from '../../rejected.ts'

/** @throws UpstreamFailure `rejected` for an id in one vendor's store */
export function toUrl({ source, path }: MediaPart): string {
  if (source.type === 'url') return source.url
  if (source.type === 'reference') throw rejected(path, 'must be an address or data')
  return `data:${source.mediaType};base64,${source.data}`
}

/** @throws UpstreamFailure `rejected` for what is not in the request itself */
export function toFile(part: MediaPart): JsonObject {
  const { source, path, title = 'document.pdf' } = part
  if (source.type !== 'base64') throw rejected(path, 'must be in the request, as data')
  return { filename: title, file_data: toUrl(part) }
}

/** @throws UpstreamFailure `rejected` for what is not in the request itself */
export function toAudio({ source, path }: MediaPart): JsonObject {
  if (source.type !== 'base64') throw rejected(path, 'must be in the request, as data')
  const format = source.mediaType.slice('audio/'.length).replace('mpeg', 'mp3').replace('x-', '')
  return { data: source.data, format }
}
