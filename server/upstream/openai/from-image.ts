/** Theirs → ours: pictures count only when their bytes are there (contract §7). */
import { readBase64Image } from '../image-type.ts'
import { isObject, readText } from '../read-json.ts'

/** The address in an image part of an answer; undefined for what is no picture. */
export type ImageReader = (part: unknown) => string | undefined

const HEAD = /^data:image\/[a-z0-9][a-z0-9.+-]{0,63}(?:;[^,;]{1,64})*;base64,/i

/** The data URL in a part; undefined for a remote address or for bytes that are those of no picture. */
export const fromImagePart: ImageReader = (part) => {
  const url = readUrl(part) ?? ''
  const head = HEAD.exec(url)?.[0]
  if (head === undefined) return undefined
  const text = url.slice(head.length)
  const image = readBase64Image(text.trimEnd())
  // What is right as it stands is not put together again: it is megabytes.
  if (image?.head === head && image.base64 === text) return url
  return image && image.head + image.base64
}

/** The same, or a remote address as it stands. */
export const fromAnyImagePart: ImageReader = (part) => {
  const url = readUrl(part)
  return url !== undefined && isRemote(url) ? url : fromImagePart(part)
}

/** Whether a picture would still have to be fetched. */
export const isRemote = (url: string): boolean => /^https?:/i.test(url)

function readUrl(part: unknown): string | undefined {
  if (!isObject(part)) return undefined
  const holder = part['image_url']
  return readText(isObject(holder) ? holder['url'] : holder)
}
