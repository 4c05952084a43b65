/** Theirs → ours: images, only when their bytes are present and really an image (contract §7). */

import { readObject, readText } from '#domain/json.ts'
import { toImageUrl } from '../base64-image.ts'

/** The data URL of an `inlineData`; undefined for other media and for bytes that are not an image. */
export function fromInlineData(value: unknown): string | undefined {
  const { mimeType, data } = readObject(value)
  const bytes = readText(data)
  if (bytes === undefined || !/^image\//i.test(readText(mimeType) ?? '')) return undefined
  return toImageUrl(bytes)
}
