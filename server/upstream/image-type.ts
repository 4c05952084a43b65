/** Tells a picture by its first bytes: what a provider calls it proves nothing, and a client must be able to open it. */
import { isBase64 } from '#domain/base64.ts'

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

/** The first bytes of each kind, in hexadecimal; a WebP is a RIFF file that says so after its length. */
const KINDS: readonly (readonly [start: RegExp, type: ImageType])[] = [
  [/^89504e470d0a1a0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^52494646.{8}57454250/, 'image/webp'],
  [/^47494638(?:37|39)61/, 'image/gif'],
]
const EXAMINED_BYTES = 12
const EXAMINED_CHARS = (EXAMINED_BYTES / 3) * 4

/** The kind of picture that these bytes begin, or undefined for anything else. */
export function sniffImageType(bytes: Uint8Array): ImageType | undefined {
  const start = Buffer.from(bytes.subarray(0, EXAMINED_BYTES)).toString('hex')
  return KINDS.find(([pattern]) => pattern.test(start))?.[1]
}

export interface Base64Image {
  /** What a data URL says before its base64. */
  readonly head: string
  /** In the ordinary alphabet. */
  readonly base64: string
}

/** Bare base64 of either alphabet, under the type that its bytes have; undefined when they are those of no picture. */
export function readBase64Image(text: string): Base64Image | undefined {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  const type = sniffImageType(Buffer.from(base64.slice(0, EXAMINED_CHARS), 'base64'))
  return type && isBase64(base64) ? { head: `data:${type};base64,`, base64 } : undefined
}

/** The same as a data URL. */
export function toImageUrl(text: string): string | undefined {
  const image = readBase64Image(text)
  return image && image.head + image.base64
}
