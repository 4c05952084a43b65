/** The operator's logo: which files are one. */
import { type ImageType, sniffImageType } from '#domain/image-type.ts'
import { ASSETS, type Asset, asset, type Extension } from './assets.ts'

/** The kinds of image that it may be. */
const KINDS: Readonly<Partial<Record<ImageType, Extension>>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}

/** The root of an SVG document, after what may be before it. */
const SVG =
  /^\ufeff?\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->).)*-->\s*|<!DOCTYPE svg\b[^>[]*>\s*)*<svg\s/s
/** Without it browsers show none as an image. */
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg'

/** By its content, whatever its name; undefined for any other file. */
export function readLogo(bytes: Uint8Array<ArrayBuffer>): Asset | undefined {
  const type = sniffImageType(bytes)
  const extension = type && KINDS[type]
  if (extension !== undefined) return asset(ASSETS, 'logo', extension, bytes)
  const text = Buffer.from(bytes).toString()
  const isSvg = SVG.test(text) && text.includes(SVG_NAMESPACE)
  return isSvg ? asset(ASSETS, 'logo', 'svg', text) : undefined
}
