/** The size of a text in UTF-8, from which tokens are estimated. */

export interface TextSize {
  readonly bytes: number
  /** Of them, those of scripts that have more bytes to a token: Cyrillic, and those of India and its neighbours. */
  readonly dense: number
}

/** Typical for English text; an estimated charge is always marked as estimated. */
const BYTES_PER_TOKEN = 4
const DENSE_BYTES_PER_TOKEN = 7

/** An estimate of the tokens that a text of this size makes. */
export const tokensOf = (size: TextSize): number => Math.ceil(shareOf(size))

/** The same for a part of a text, of which a token that it shares with the rest is not counted. */
export const tokensWithin = (size: TextSize): number => Math.floor(shareOf(size))

const shareOf = ({ bytes, dense }: TextSize): number =>
  (bytes - dense) / BYTES_PER_TOKEN + dense / DENSE_BYTES_PER_TOKEN

export function sizeOf(text: string): TextSize {
  const bytes = utf8Bytes(text)
  return { bytes, dense: bytes > text.length ? denseBytesOf(text) : 0 }
}

/** An estimate of the tokens of an entry that is embedded by itself: a text, or token ids. */
export const entryTokens = (entry: string | readonly number[]): number =>
  typeof entry === 'string' ? tokensOf(sizeOf(entry)) : entry.length

/** Up to about this length, counting by hand is faster than asking the runtime. */
const SHORT_CHARS = 24

/** UTF-8 bytes of `text`. A stream may split a surrogate pair between two events; the runtime counts half a pair as three bytes. */
export const utf8Bytes = (text: string): number =>
  text.length > SHORT_CHARS && text.isWellFormed() ? Buffer.byteLength(text) : countedBytes(text)

/** Counts UTF-8 bytes, two for half a pair. */
function countedBytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair is two units and four bytes; any other unit from U+0800 on is three.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2
  }
  return bytes
}

/**
 * The size of the text that a JSON text of `bytes` bytes spells, some of it perhaps as `\u` and four digits; judged by `sample`,
 * its first `sampleBytes`.
 */
export function spelledSize(sample: string, sampleBytes: number, bytes: number): TextSize {
  const share = bytes / sampleBytes
  let dense = sampleBytes > sample.length ? denseBytesOf(sample) : 0
  let saved = 0
  for (let at = sample.indexOf('\\u'); at >= 0; at = sample.indexOf('\\u', at + ESCAPE_CHARS)) {
    const char = String.fromCharCode(Number.parseInt(sample.slice(at + 2, at + ESCAPE_CHARS), 16))
    saved += ESCAPE_CHARS - utf8Bytes(char)
    dense += denseBytesOf(char)
  }
  return { bytes: bytes - Math.floor(saved * share), dense: Math.floor(dense * share) }
}

const ESCAPE_CHARS = 6

/** The bytes of a text's dense scripts. Call it for a text with more bytes than characters only: others have none. */
export function denseBytesOf(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x400 && unit < 0x530) bytes += 2
    else if (unit >= 0x900 && unit < 0xe00) bytes += 3
  }
  return bytes
}
