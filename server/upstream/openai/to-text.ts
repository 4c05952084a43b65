/** Ours → theirs: serialises a body. Unchanged members of a long one are sent as slices of the client's own text. */
import type { JsonObject } from '#domain/chat.ts'
import type { BodySource } from '#domain/work.ts'

/** Shorter bodies are serialised: searching their text costs as much. */
const LONG_CHARS = 1_024
/** With more than one colon per so many characters, searching the text costs more than serialising. */
const CHARS_PER_COLON = 16

/**
 * The JSON of `sent`, in pieces, so that a long text is not concatenated before it is encoded. `source` is the client's text,
 * when it is known.
 */
export function toPieces(sent: JsonObject, source: BodySource | undefined): readonly string[] {
  const text = source?.text ?? ''
  if (source === undefined || text.length < LONG_CHARS) return [JSON.stringify(sent)]
  const { fields } = source
  const names = Object.keys(fields)
  const positions = findMembers(text, fields, names)
  if (positions === null) return [JSON.stringify(sent)]
  return splice(sent, fields, text, names, positions)
}

/** Consecutive unchanged members become one slice. */
function splice(
  sent: JsonObject,
  fields: JsonObject,
  text: string,
  names: readonly string[],
  positions: readonly number[],
): readonly string[] {
  const pieces: string[] = []
  let words = ''
  let lead = '{'
  /** Start of the current slice in `text`; -1 outside one. */
  let from = -1
  for (let i = 0; i <= names.length; i++) {
    const name = names[i]
    const position = positions[i] as number
    if (name !== undefined && isKept(sent, fields, name)) {
      if (from < 0) from = position
      continue
    }
    if (from >= 0) {
      pieces.push(words + lead, text.slice(from, skipSpaceBack(text, position)))
      words = ''
      lead = ','
      from = -1
    }
    const said = name === undefined ? '' : toMember(sent, name)
    if (said !== '') {
      words += lead + said
      lead = ','
    }
  }
  for (const name in sent) {
    const said = Object.hasOwn(fields, name) ? '' : toMember(sent, name)
    if (said !== '') {
      words += lead + said
      lead = ','
    }
  }
  pieces.push(lead === '{' ? '{}' : `${words}}`)
  return pieces
}

const isKept = (sent: JsonObject, fields: JsonObject, name: string): boolean =>
  Object.hasOwn(sent, name) && sent[name] === fields[name]

/** A serialised member; empty when it is undefined. */
const toMember = (sent: JsonObject, name: string): string =>
  Object.hasOwn(sent, name) && sent[name] !== undefined
    ? `${JSON.stringify(name)}:${JSON.stringify(sent[name])}`
    : ''

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Where the member names of the outermost object begin in `text`, from which `fields` was parsed, and last where the object
 * ends. A name is a string before a colon, but a string's content can look like one (`": x"`). Therefore all candidates are
 * counted: when there are exactly as many as the parsed value has members, each is a name, and their order tells which. Null in
 * any doubt: more candidates (such a string, or a duplicate name, of which other parsers may take the other), a name with
 * escapes, or names in another order.
 */
function findMembers(
  text: string,
  fields: JsonObject,
  names: readonly string[],
): readonly number[] | null {
  const positions: number[] = []
  let colonsLeft = text.length / CHARS_PER_COLON
  let seen = 0
  /** The count of candidates before the next outermost name. */
  let due = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
    if (--colonsLeft < 0) return null
    const quote = skipSpaceBack(text, at)
    if (text.charCodeAt(quote) !== QUOTE || isEscaped(text, quote)) continue
    if (seen++ < due) continue
    const name = names[positions.length]
    const position = name === undefined ? -1 : findName(text, quote, name)
    if (name === undefined || position < 0) return null
    positions.push(position)
    due += 1 + countNames(fields[name])
  }
  if (seen !== due || positions.length !== names.length) return null
  positions.push(text.lastIndexOf('}') + 1)
  return positions
}

/** Where the string that ends with this quote begins; -1 when it is not literally `name`. */
function findName(text: string, quote: number, name: string): number {
  const start = quote - 1 - name.length
  const isPlain = text.charCodeAt(start) === QUOTE && text.startsWith(name, start + 1)
  return isPlain && !name.includes('\\') && !isEscaped(text, start) ? start : -1
}

/** The number of members of all objects in a value; NaN when it has a number that JSON cannot express (1e999). */
function countNames(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.NaN
  if (typeof value !== 'object' || value === null) return 0
  let names = 0
  if (Array.isArray(value)) {
    for (const item of value) names += countNames(item)
  } else {
    for (const name in value) names += 1 + countNames((value as JsonObject)[name])
  }
  return names
}

/** The last position before `at` that is not JSON white space. */
function skipSpaceBack(text: string, at: number): number {
  let before = at - 1
  while (isSpace(text.charCodeAt(before))) before--
  return before
}

const isSpace = (unit: number): boolean =>
  unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
  return slashes % 2 === 1
}
