/** Integers beyond 2^53, which JSON.parse rounds, with the digits that a client or provider sent: ids, seeds, hashes. */

/** An integer as it was written; JSON.stringify writes it unchanged. Of the types of JavaScript it is an object. */
export interface LongInteger {
  readonly rawJSON: string
}

interface SourceTextJson {
  parse(text: string, reviver: (name: string, value: unknown, context: Source) => unknown): unknown
  rawJSON(text: string): LongInteger
  isRawJSON(value: unknown): value is LongInteger
}

/** `source` is a number's text. */
interface Source {
  readonly source: string
}

/** TypeScript does not know this part of ECMAScript 2026 yet. */
const sourceTextJson = JSON as unknown as SourceTextJson

/** A longer text is rounded: this way of parsing takes up to ten times as long, here at most 20 ms. */
const MAX_CHARS = 262_144
const INTEGER = /^-?\d+$/
/** The shortest that may be rounded have sixteen digits. The runtime tests a kilobyte for them in a tenth of a microsecond. */
const DIGITS = /\d{16}/
/** Excludes digits after a point, of which log probabilities have as many. */
const LONG_INTEGER = /(?:^|[:,[\s-])\d{16}/

/**
 * The value of a JSON text. Inside an object or array, integers that a double would round are `LongInteger`s. `value` is what
 * `JSON.parse` returns, if that is known; it is returned itself if nothing was rounded. @throws SyntaxError
 */
export function parseExactly(text: string, value: unknown = JSON.parse(text)): unknown {
  const mayBeRounded = text.length <= MAX_CHARS && DIGITS.test(text) && LONG_INTEGER.test(text)
  if (!mayBeRounded || typeof value !== 'object') return value
  return sourceTextJson.parse(text, keepDigits)
}

function keepDigits(_: string, value: unknown, { source }: Source): unknown {
  const isRounded =
    typeof value === 'number' && !Number.isSafeInteger(value) && INTEGER.test(source)
  return isRounded && String(value) !== source ? sourceTextJson.rawJSON(source) : value
}

export const isLongInteger = (value: unknown): value is LongInteger =>
  sourceTextJson.isRawJSON(value)
