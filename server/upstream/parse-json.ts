/** Parses JSON answers. Long strings (base64 images) are cut out first and decoded once, which is cheaper than JSON.parse. */
import { Buffer } from 'node:buffer'
import { parseExactly } from '#domain/exact-json.ts'
import { isShallow } from './json-depth.ts'

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

const bounded = (value: unknown, chars: number): unknown =>
  isShallow(value, chars) ? value : undefined

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
