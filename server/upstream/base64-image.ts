/** An image as bare base64: a provider's media type may be wrong, and the client must be able to open it. */
import { EXAMINED_BYTES, sniffImageType } from '#domain/image-type.ts'
import { isBase64 } from '#runtime/base64.ts'

const EXAMINED_CHARS = (EXAMINED_BYTES / 3) * 4

export interface Base64Image {
  /** The data URL up to and including `;base64,`. */
  readonly head: string
  /** In the standard alphabet, not the URL-safe one. */
  readonly base64: string
}

/** Reads bare base64 of either alphabet; undefined when its bytes are not an image. */
export function readBase64Image(text: string): Base64Image | undefined {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  const type = sniffImageType(Buffer.from(base64.slice(0, EXAMINED_CHARS), 'base64'))
  return type && isBase64(base64) ? { head: `data:${type};base64,`, base64 } : undefined
}

/** A data URL for bare base64; undefined when its bytes are not an image. */
export function toImageUrl(text: string): string | undefined {
  const image = readBase64Image(text)
  return image && image.head + image.base64
}
