/**
 * JSON of others. Numbers that JSON.parse would round keep the digits that a client, provider or file has (ids, seeds, hashes; prices
 * and amounts), and a field of the wrong type reads as absent.
 */
import type { JsonObject } from './chat.ts'
import { tooDeepAt } from './json-text.ts'

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

/**
 * The value of a JSON text in which every number is a `LongInteger`, as it was written. For commands alone: it is slow.
 * @throws SyntaxError where it is none, or is nested too deeply
 */
export function parseAsWritten(text: string): unknown {
  if (tooDeepAt(text) !== null) throw new SyntaxError('it is nested too deeply')
  return sourceTextJson.parse(text, (_, value, { source }) =>
    typeof value === 'number' ? sourceTextJson.rawJSON(source) : value,
  )
}

const NUMBER = /^(-?)(\d{1,40})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,2}))?$/i

/** A number as it was written, or a text of one, as a plain decimal without an exponent; undefined for anything else. @example 2.5e-7 */
export function decimalOf(value: unknown): string | undefined {
  const text = isLongInteger(value) ? value.rawJSON : value
  const match = typeof text === 'string' ? NUMBER.exec(text) : null
  if (!match) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const places = Math.max(1, point)
  const rest = padded.slice(places).replace(/0+$/, '')
  const plain = padded.slice(0, places).replace(/^0+(?=\d)/, '')
  return `${sign}${plain}${rest === '' ? '' : `.${rest}`}`
}

/** Whether `value` is a JSON object: no array, not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `value`, or an empty object when it is none. */
export const readObject = (value: unknown): JsonObject => (isObject(value) ? value : NO_FIELDS)

const NO_FIELDS: JsonObject = Object.freeze({})

/** `value`, or an empty array when it is none. */
export const readList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : NOTHING

const NOTHING: readonly unknown[] = Object.freeze([])

/** A string, which may be empty. */
export const readString = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** A string that is not empty. */
export const readText = (value: unknown): string | undefined => readString(value) || undefined

export const readNumber = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined
