/** Ours → theirs: a chat request as a generation (JSON), or as an edit when it has images (multipart form with their bytes). */
import { sniffImageType } from '#domain/image-type.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { wholeBody } from '#domain/work.ts'
import { rejected } from '../../rejected.ts'
import type { Operation } from '../endpoint.ts'
import { readConversation } from './read-conversation.ts'
import { type Fields, toFields } from './to-fields.ts'

export interface ImageRequest {
  readonly operation: Extract<Operation, `/images/${string}`>
  readonly contentType: string
  readonly body: string | Uint8Array
}

const JSON_TYPE = 'application/json'

/** @throws UpstreamFailure `rejected` without a prompt, or when an image is not a data URL */
export async function toImageRequest(call: UpstreamCall): Promise<ImageRequest> {
  const { prompt, images } = readConversation(wholeBody(call.request))
  if (prompt === '') throw rejected('messages', 'none of them says in words what to draw')
  const fields = toFields(call, prompt)
  if (images.length === 0) {
    const body = JSON.stringify(fields)
    return { operation: '/images/generations', contentType: JSON_TYPE, body }
  }
  return call.hop.provider.type === 'xai'
    ? toXaiEdit(fields, images)
    : await toForm(fields, images.map(toFile))
}

/** xAI's edits are JSON and accept data URLs and remote URLs. */
function toXaiEdit(fields: Fields, images: readonly string[]): ImageRequest {
  const entries = images.map((url) => ({ type: 'image_url', url }))
  const body = {
    ...fields,
    ...(entries.length === 1 ? { image: entries[0] } : { images: entries }),
  }
  return { operation: '/images/edits', contentType: JSON_TYPE, body: JSON.stringify(body) }
}

async function toForm(fields: Fields, files: readonly File[]): Promise<ImageRequest> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
  // A list is named `image[]`, which older models do not accept.
  const name = files.length === 1 ? 'image' : 'image[]'
  for (const file of files) form.append(name, file, file.name)
  const packed = new Response(form)
  return {
    operation: '/images/edits',
    contentType: packed.headers.get('content-type') ?? '',
    body: new Uint8Array(await packed.arrayBuffer()),
  }
}

/** A file with the type of its bytes. Remote URLs are not fetched: a client must not make the gateway open connections. */
function toFile(url: string, index: number): File {
  const comma = url.indexOf(',')
  if (!url.startsWith('data:')) {
    throw rejected('messages', 'this model takes images as data URLs, not as addresses')
  }
  const bytes = Buffer.from(url.slice(comma + 1), 'base64')
  const type = sniffImageType(bytes)
  if (type === undefined) throw rejected('messages', 'an image is no PNG, JPEG, WebP or GIF')
  return new File([bytes], `image-${index + 1}.${type.slice('image/'.length)}`, { type })
}
