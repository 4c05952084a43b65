/** The operator's logo: which files are one. */
import { ASSETS, type Asset, asset, type Extension } from './assets.ts'

/** The first bytes of each kind of image, in hexadecimal. */
const SIGNATURES: readonly (readonly [RegExp, Extension])[] = [
  [/^89504e470d0a1a0a/, 'png'],
  [/^ffd8ff/, 'jpg'],
  [/^52494646.{8}57454250/, 'webp'],
]
const SIGNATURE_BYTES = 12

/** The root of an SVG document, after what may be before it. */
const SVG =
  /^\ufeff?\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->).)*-->\s*|<!DOCTYPE svg\b[^>[]*>\s*)*<svg\s/s
/** Without it browsers show none as an image. */
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg'

/** By its content, whatever its name; undefined for any other file. */
export function readLogo(bytes: Uint8Array<ArrayBuffer>): Asset | undefined {
  const start = bytes.subarray(0, SIGNATURE_BYTES).toHex()
  const extension = SIGNATURES.find(([signature]) => signature.test(start))?.[1]
  if (extension !== undefined) return asset(ASSETS, 'logo', extension, bytes)
  const text = Buffer.from(bytes).toString()
  const isSvg = SVG.test(text) && text.includes(SVG_NAMESPACE)
  return isSvg ? asset(ASSETS, 'logo', 'svg', text) : undefined
}
