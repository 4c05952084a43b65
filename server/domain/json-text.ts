/** The text of JSON as it was written: its strings, and where the members of the outermost object stand. */

// UTF-16 code units.
const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d

/** The position of the closing quote of the string that begins at `start`, or the end of the text if there is none. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
  return slashes % 2 === 1
}

/** How deeply JSON from elsewhere may be nested: parsers and readers of it go one call deeper for each level. */
export const MAX_DEPTH = 64

/** Where the first value begins that is nested too deeply; null where there is none. `text` may be anything. */
export function tooDeepAt(text: string): number | null {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) at = endOfString(text, at)
    else if (unit === OPEN_BRACKET || unit === OPEN_BRACE) {
      if (++depth > MAX_DEPTH) return at
    } else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth--
  }
  return null
}

/** A member of the outermost object. */
export interface Member {
  /** Decoded, because a character may be written as an escape. */
  readonly name: string
  /** Where its name, its value, and what follows its value begin. */
  readonly start: number
  readonly valueStart: number
  readonly end: number
}

/** The members of the outermost object, in order; of a name that is repeated, each. `text` must be a valid JSON object. */
export function readMembers(text: string): readonly Member[] {
  const members: Member[] = []
  let at = skipSpace(text, text.indexOf('{') + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const start = at
    const nameEnd = endOfString(text, start)
    const valueStart = skipSpace(text, skipSpace(text, nameEnd + 1) + 1)
    const end = endOfValue(text, valueStart)
    members.push({ name: decodeName(text.slice(start, nameEnd + 1)), start, valueStart, end })
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
  }
  return members
}

/** Without the parser, where the name has no escape. @throws SyntaxError */
export const decodeName = (quoted: string): string =>
  quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)

/** The first position from `at` on that is no white space. */
export function skipSpace(text: string, at: number): number {
  let next = at
  while (text.charCodeAt(next) <= SPACE) next++
  return next
}

/** The last position before `at` that is no white space. */
export function skipSpaceBack(text: string, at: number): number {
  let before = at - 1
  while (text.charCodeAt(before) <= SPACE) before--
  return before
}

/** Strings are skipped with a native search, so that an image costs almost nothing. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return endOfString(text, start) + 1
  if (first !== OPEN_BRACKET && first !== OPEN_BRACE) return endOfWord(text, start)
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) i = endOfString(text, i)
    else if (unit === OPEN_BRACKET || unit === OPEN_BRACE) depth++
    else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) {
      if (--depth === 0) return i + 1
    }
  }
  return text.length
}

/** Of a number, `true`, `false` or `null`. */
function endOfWord(text: string, start: number): number {
  let end = start
  for (let unit = text.charCodeAt(end); unit > SPACE; unit = text.charCodeAt(++end)) {
    if (unit === COMMA || unit === CLOSE_BRACE) break
  }
  return end
}

/**
 * The text without those elements of the array that is its member `name`; each with the comma beside it, and nothing else.
 * `isCut` is asked by the element's index. `text` must be a valid JSON object.
 */
export function cutElements(text: string, name: string, isCut: (index: number) => boolean): string {
  const list = readMembers(text).findLast((member) => member.name === name)
  if (list === undefined || text.charCodeAt(list.valueStart) !== OPEN_BRACKET) return text
  const kept: string[] = []
  const first = skipSpace(text, list.valueStart + 1)
  let before = list.valueStart + 1
  for (let at = first, index = 0; text.charCodeAt(at) !== CLOSE_BRACKET; index++) {
    const end = endOfValue(text, at)
    // What parts it from its neighbour stays as it is.
    if (!isCut(index)) kept.push(text.slice(kept.length === 0 ? at : before, end))
    before = end
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
  }
  return `${text.slice(0, first)}${kept.join('')}${text.slice(before)}`
}
