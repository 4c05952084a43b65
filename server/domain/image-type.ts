/** An image's type by its first bytes: what a file or a provider calls it may be wrong. */

export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

/** The first bytes of each type, in hexadecimal; WebP is a RIFF file with its name after the length. */
const KINDS: readonly (readonly [start: RegExp, type: ImageType])[] = [
  [/^89504e470d0a1a0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^52494646.{8}57454250/, 'image/webp'],
  [/^47494638(?:37|39)61/, 'image/gif'],
]

/** Enough to tell the type of any. */
export const EXAMINED_BYTES = 12

/** The image type that these bytes begin with; undefined for anything else. */
export function sniffImageType(bytes: Uint8Array): ImageType | undefined {
  const start = bytes.subarray(0, EXAMINED_BYTES).toHex()
  return KINDS.find(([pattern]) => pattern.test(start))?.[1]
}
