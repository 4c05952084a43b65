/** Parses the bytes of an answer. A picture in it is cut out beforehand, and becomes text once, where a parser would copy it. */
import { Buffer } from 'node:buffer'
import { isShallow } from './json-depth.ts'

/** A string of fewer bytes is not worth it. */
export const LONG_BYTES = 65_536
/** An answer with more quotes before its pictures is text, and goes to the parser as it is. */
const MOST_QUOTES = 2_000
/** What the parser is given instead of a long string. Nobody outside knows it, so nobody else can say it. */
const MARK = `${crypto.randomUUID()}:`

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

const decoder = new TextDecoder()

/** The value of a text that holds no picture worth it; undefined when it is no JSON, or nested too deeply. */
export function parseText(text: string): unknown {
  try {
    return bounded(JSON.parse(text), text.length)
  } catch {
    return undefined
  }
}

const bounded = (value: unknown, chars: number): unknown =>
  isShallow(value, chars) ? value : undefined

/** The value of any bytes; undefined when they are no JSON, or nested too deeply. (A long string may hold raw control characters, which JSON forbids.) */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    const lifted = bytes.length > LONG_BYTES ? lift(toBuffer(bytes)) : null
    if (lifted === null) return bounded(JSON.parse(decoder.decode(bytes)), bytes.length)
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
  /** The text with a mark in place of each long string. */
  readonly rest: string
  readonly strings: readonly string[]
}

/** Null when there is no long string. */
function lift(bytes: Buffer): Lifted | null {
  const strings: string[] = []
  let rest = ''
  let restFrom = 0
  let quotes = 0
  let start = -1
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    if (++quotes > MOST_QUOTES) break
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

/** Not what has an escape in it, nor a name. */
function isLiftable(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < LONG_BYTES || bytes.subarray(start, end).includes(BACKSLASH)) return false
  let next = end + 1
  while (isSpace(bytes[next])) next++
  return bytes[next] !== COLON
}

/** White space as JSON has it. */
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function isEscaped(bytes: Buffer, at: number): boolean {
  let slashes = 0
  while (bytes[at - 1 - slashes] === BACKSLASH) slashes++
  return slashes % 2 === 1
}
