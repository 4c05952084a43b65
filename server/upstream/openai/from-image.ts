/** Theirs → ours: images, only when their bytes are present (contract §7). */

import { isObject, readText } from '#domain/json.ts'
import { readBase64Image } from '../base64-image.ts'

/** The URL in an image part of an answer; undefined when it is not an image. */
export type ImageReader = (part: unknown) => string | undefined

const HEAD = /^data:image\/[a-z0-9][a-z0-9.+-]{0,63}(?:;[^,;]{1,64})*;base64,/i

/** The data URL in a part; undefined for a remote URL and for bytes that are not an image. */
export const fromImagePart: ImageReader = (part) => {
  const url = readUrl(part) ?? ''
  const head = HEAD.exec(url)?.[0]
  if (head === undefined) return undefined
  const text = url.slice(head.length)
  const image = readBase64Image(text.trimEnd())
  // A valid URL is returned as it is, because copying it costs megabytes.
  if (image?.head === head && image.base64 === text) return url
  return image && image.head + image.base64
}

/** The same, or a remote URL. */
export const fromAnyImagePart: ImageReader = (part) => {
  const url = readUrl(part)
  return url !== undefined && isRemote(url) ? url : fromImagePart(part)
}

/** Whether the image must still be fetched. */
export const isRemote = (url: string): boolean => /^https?:/i.test(url)

function readUrl(part: unknown): string | undefined {
  if (!isObject(part)) return undefined
  const holder = part['image_url']
  return readText(isObject(holder) ? holder['url'] : holder)
}
