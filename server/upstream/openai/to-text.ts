/** Ours → theirs: a body as text. Of a long one, what was not changed goes out in the client's own words, uncopied. */
import type { BodySource, JsonObject } from '#domain/chat.ts'

/** A shorter body is put into words anew: to look through it costs as much. */
const LONG_CHARS = 1_024
/** A text with more colons than one in so many characters takes longer to look through than to write. */
const CHARS_PER_COLON = 16

/**
 * The JSON of `sent`, by value; `source` is what the client sent, where it is known. In pieces, so that nobody has to put a long
 * text together before its bytes are written.
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

/** Members that follow each other both here and there are taken over at once. */
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
  /** Where what is taken over begins. */
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

/** Empty where there is nothing to say. */
const toMember = (sent: JsonObject, name: string): string =>
  Object.hasOwn(sent, name) && sent[name] !== undefined
    ? `${JSON.stringify(name)}:${JSON.stringify(sent[name])}`
    : ''

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Where the names of the outermost object begin in `text`, which `fields` were parsed of, and behind them where it ends. A name
 * is a string before a colon; the beginning of a string may look like one (`": x"`). So they are counted: where there are no
 * more than the value has, each of them is one, and their order says whose it is. Null in any doubt: where there are more,
 * because of such a string or because a name that stands twice is one in the value (and whoever reads the text might take the
 * other of the two), and where a name is written with escapes, or stands elsewhere.
 */
function findMembers(
  text: string,
  fields: JsonObject,
  names: readonly string[],
): readonly number[] | null {
  const positions: number[] = []
  let colonsLeft = text.length / CHARS_PER_COLON
  let seen = 0
  /** As many have been seen when the next outer one comes. */
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

/** Where the string that ends with this quote begins, or -1 when it is not `name`, letter by letter. */
function findName(text: string, quote: number, name: string): number {
  const start = quote - 1 - name.length
  const isPlain = text.charCodeAt(start) === QUOTE && text.startsWith(name, start + 1)
  return isPlain && !name.includes('\\') && !isEscaped(text, start) ? start : -1
}

/** How many members all objects in a value have; not a number where JSON cannot say what it holds (1e999). */
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

/** The last position before `at` that holds no white space, as JSON has it. */
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
