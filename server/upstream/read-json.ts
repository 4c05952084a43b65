/** Untrusted JSON: parsed to a depth, long strings (base64 images) cut out first, which is cheaper; a field of the wrong type reads as absent. */
import { Buffer } from 'node:buffer'
import type { JsonObject } from '#domain/chat.ts'
import { isLongInteger, parseExactly } from '#domain/json.ts'
import { MAX_DEPTH } from '#domain/json-text.ts'

/** Shorter strings are not cut out. */
export const LONG_BYTES = 65_536
/** An answer with more quotes than this is mostly text, and the search for long strings stops. */
const MAX_QUOTES = 2_000
/** Stands for a long string in the text given to the parser. Random, so that no provider can forge it. */
const MARK = `${crypto.randomUUID()}:`

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

const decoder = new TextDecoder()

/** Parses text without cutting out strings; undefined when it is not JSON or nested too deeply. */
export function parseText(text: string): unknown {
  try {
    return bounded(parseExactly(text), text.length)
  } catch {
    return undefined
  }
}

/** A value parsed from `chars` characters (or bytes), nested at most 64 levels deep. */
const bounded = (value: unknown, chars: number): unknown =>
  chars <= HARMLESS_CHARS || isWithin(value, MAX_DEPTH) ? value : undefined

/** Parses bytes; undefined when they are not JSON or nested too deeply. (A string that was cut out may hold raw control characters, which JSON forbids.) */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    const lifted = bytes.length > LONG_BYTES ? lift(toBuffer(bytes)) : null
    if (lifted === null) return bounded(parseExactly(decoder.decode(bytes)), bytes.length)
    const { rest, strings } = lifted
    const value = JSON.parse(rest, (_, value: unknown) =>
      typeof value === 'string' && value.startsWith(MARK)
        ? strings[Number(value.slice(MARK.length))]
        : value,
    )
    return bounded(value, rest.length)
  } catch {
    return undefined
  }
}

const toBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length)

interface Lifted {
  /** The text with `MARK` and a number in place of each long string. */
  readonly rest: string
  readonly strings: readonly string[]
}

/** Cuts out the long strings; null when there is none. */
function lift(bytes: Buffer): Lifted | null {
  const strings: string[] = []
  let rest = ''
  let restFrom = 0
  let quotes = 0
  let start = -1
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    if (++quotes > MAX_QUOTES) break
    if (start < 0) {
      start = at + 1
    } else if (!isEscaped(bytes, at)) {
      if (isLiftable(bytes, start, at)) {
        rest += `${decoder.decode(bytes.subarray(restFrom, start))}${MARK}${strings.length}`
        strings.push(bytes.toString('utf8', start, at))
        restFrom = at
      }
      start = -1
    }
  }
  if (strings.length === 0) return null
  return { rest: rest + decoder.decode(bytes.subarray(restFrom)), strings }
}

/** Long enough, without escapes, and not a member's name. */
function isLiftable(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < LONG_BYTES || bytes.subarray(start, end).includes(BACKSLASH)) return false
  let next = end + 1
  while (isSpace(bytes[next])) next++
  return bytes[next] !== COLON
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function isEscaped(bytes: Buffer, at: number): boolean {
  let slashes = 0
  while (bytes[at - 1 - slashes] === BACKSLASH) slashes++
  return slashes % 2 === 1
}

/** A text this short cannot be nested deeply enough to overflow the stack. */
const HARMLESS_CHARS = 16_384

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  return Object.values(value).every((inner) => isWithin(inner, levels - 1))
}

const MAX_CHOICES = 128

/** The provider's index of a choice, else its position. Bounded, because clients allocate by it. */
export const readChoiceIndex = (value: unknown, position: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_CHOICES
    ? value
    : position

/** Whether a field of an answer is passed on, which is known by name and has a value. */
export type IsPassed = (value: unknown, name: string) => boolean

const isFilled: IsPassed = (value) => !Array.isArray(value) || value.length > 0

/** The fields that are not in `known`, and pass; null when there are none. */
export function readUnknownFields(
  object: JsonObject,
  known: ReadonlySet<string>,
  isPassed = isFilled,
): JsonObject | null {
  let fields: Record<string, unknown> | null = null
  for (const name in object) {
    if (known.has(name)) continue
    const value = object[name]
    if (value === null || value === undefined || !isPassed(value, name)) continue
    fields ??= {}
    fields[name] = value
  }
  return fields
}

/** More than any answer has. */
export const MAX_TOKENS = 1_000_000_000

/** An integer from 0 to 1e9; undefined otherwise, because a faulty count must not become a charge. */
export const readCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MAX_TOKENS ? Math.round(value) : undefined

/** The count of a part that has a price of its own. One above its whole cannot be: the whole is charged without it. */
export function readPart(value: unknown, whole: number): number {
  const part = readCount(value) ?? 0
  return part <= whole ? part : 0
}

/** Whether a number was sent that cannot be a count; then the counts beside it are not reliable either. */
export const isImpossible = (value: unknown): boolean =>
  typeof value === 'number'
    ? readCount(value) === undefined
    : value !== undefined && isLongInteger(value)
