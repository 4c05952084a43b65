/** Ours → theirs: a body as text. What is long in it and was not changed goes out in the client's own words, uncopied. */
import type { BodySource, JsonObject } from '#domain/chat.ts'

/** A shorter value is put into words anew: to look for it costs as much. */
const LONG_CHARS = 4_096
/** A text with more quotes than one in so many characters takes longer to look through than to write. */
const CHARS_PER_QUOTE = 16

/** The JSON of `sent`, by value; `source` is what the client sent, where it is known. */
export function toText(sent: JsonObject, source: BodySource | undefined): string {
  const text = source?.text ?? ''
  if (source === undefined || text.length < LONG_CHARS) return JSON.stringify(sent)
  const spans = findLongValues(text, Object.keys(source.fields).length)
  if (spans === null || spans.size === 0) return JSON.stringify(sent)
  let written = ''
  for (const name of Object.keys(sent)) {
    const value = sent[name]
    if (value === undefined) continue
    const span = value === source.fields[name] ? spans.get(name) : undefined
    // A name that stands twice in an object is one in the value. Whoever reads the text might take the other of the two.
    const isSame = span !== undefined && span.names === countNames(value)
    const words = isSame ? text.slice(span.start, span.end) : JSON.stringify(value)
    written += `${written === '' ? '{' : ','}${JSON.stringify(name)}:${words}`
  }
  return written === '' ? '{}' : `${written}}`
}

/** How many members all objects in a value have; not a number where JSON cannot say what it holds (1e999). */
function countNames(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.NaN
  if (typeof value !== 'object' || value === null) return 0
  let names = 0
  if (Array.isArray(value)) {
    for (const item of value) names += countNames(item)
  } else {
    for (const name of Object.keys(value)) names += 1 + countNames((value as JsonObject)[name])
  }
  return names
}

/** Where a value stands in a text, and what stands in it: names of members, and quotes. */
interface Span {
  readonly start: number
  readonly end: number
  readonly names: number
  readonly quotes: number
}

/**
 * The long values of the object that `text`, which must be proper JSON, holds: by their names. Null in any doubt: when there
 * are not as many members as the object has, or a name is written with an escape, which may hide another.
 */
function findLongValues(text: string, members: number): ReadonlyMap<string, Span> | null {
  const spans = new Map<string, Span>()
  let quotesLeft = text.length / CHARS_PER_QUOTE
  let seen = 0
  let at = text.indexOf('"')
  for (; at >= 0; seen++) {
    const end = text.indexOf('"', at + 1)
    const name = text.slice(at + 1, end)
    const span = name.includes('\\') ? null : findValue(text, end + 1, quotesLeft)
    if (span === null) return null
    quotesLeft -= span.quotes
    if (span.end - span.start >= LONG_CHARS) spans.set(name, span)
    at = text.indexOf('"', span.end)
  }
  return seen === members ? spans : null
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** The value behind the next colon, up to the comma or the brace behind it; null when it holds too many quotes. */
function findValue(text: string, from: number, mostQuotes: number): Span | null {
  const start = text.indexOf(':', from) + 1
  let depth = 0
  let names = 0
  let quotes = 0
  let at = start
  for (; depth >= 0; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        // Strings are passed over by a native search.
        do {
          at = text.indexOf('"', at + 1)
          if (++quotes > mostQuotes) return null
        } while (isEscaped(text, at))
        break
      case COLON:
        names++
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        depth++
        break
      case COMMA:
        if (depth === 0) depth = -1
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth--
        break
    }
  }
  return { start, end: at - 1, names, quotes }
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
  return slashes % 2 === 1
}
