/** Detects an image's type by its first bytes: a provider's media type may be wrong, and the client must be able to open it. */
import { isBase64 } from '#runtime/base64.ts'

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

/** The first bytes of each type, in hexadecimal; WebP is a RIFF file with its name after the length. */
const KINDS: readonly (readonly [start: RegExp, type: ImageType])[] = [
  [/^89504e470d0a1a0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^52494646.{8}57454250/, 'image/webp'],
  [/^47494638(?:37|39)61/, 'image/gif'],
]
const EXAMINED_BYTES = 12
const EXAMINED_CHARS = (EXAMINED_BYTES / 3) * 4

/** The image type that these bytes begin with; undefined for anything else. */
export function sniffImageType(bytes: Uint8Array): ImageType | undefined {
  const start = Buffer.from(bytes.subarray(0, EXAMINED_BYTES)).toString('hex')
  return KINDS.find(([pattern]) => pattern.test(start))?.[1]
}

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
