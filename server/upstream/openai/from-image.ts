/** Theirs → ours: pictures count only when their bytes are there (contract §7). */
import { isObject, readText } from '../read-json.ts'

const HEAD = /^data:image\/[a-z0-9][a-z0-9.+-]{0,63}(?:;[^,;]{1,64})*;base64,/i
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}\s*$/

/** The data URL in an image part of an answer; undefined for a remote address or for bytes that cannot be decoded. */
export function fromImagePart(part: unknown): string | undefined {
  if (!isObject(part)) return undefined
  const holder = part['image_url']
  const url = readText(isObject(holder) ? holder['url'] : holder)
  return url !== undefined && isDecodable(url) ? url : undefined
}

/** The same for a picture that came as bare base64. */
export function fromBase64(value: unknown, format: unknown): string | undefined {
  const bytes = readText(value)
  if (bytes === undefined) return undefined
  const kind = typeof format === 'string' && /^[a-z0-9]{1,10}$/.test(format) ? format : 'png'
  const url = `data:image/${kind};base64,${bytes}`
  return isDecodable(url) ? url : undefined
}

function isDecodable(url: string): boolean {
  const head = HEAD.exec(url)
  if (!head) return false
  const bytes = url.slice(head[0].length)
  return bytes.replace(/=*\s*$/, '').length % 4 !== 1 && BASE64.test(bytes)
}
