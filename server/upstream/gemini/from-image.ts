/** Theirs → ours: pictures count only when their bytes are there and are those of a picture (contract §7). */
import { readObject, readText } from '../read-json.ts'

/** What the bytes of each kind begin with, in base64: a client must be able to open what it paid for. */
const KINDS: readonly (readonly [start: string, type: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
]
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The data URL of an `inlineData`; undefined for other media and for bytes that are no picture. */
export function fromInlineData(value: unknown): string | undefined {
  const { mimeType, data } = readObject(value)
  const bytes = readText(data)
  if (bytes === undefined || !/^image\//i.test(readText(mimeType) ?? '')) return undefined
  const kind = KINDS.find(([start]) => bytes.startsWith(start))
  const whole = bytes.replace(/=+$/, '').length % 4 !== 1 && BASE64.test(bytes)
  return kind !== undefined && whole ? `data:${kind[1]};base64,${bytes}` : undefined
}
