/** Bounds on JSON: nesting and number of values, against denial of service; and duplicate names where they matter. */
import { GatewayError } from '#domain/errors.ts'

const MAX_DEPTH = 64
/** A smaller body cannot hold enough brackets to slow the parser down. */
const HARMLESS_BYTES = 64 * 1024
/**
 * Object members and array elements in one body, nested ones included: far above any conversation, far below what exhausts
 * memory. A property name that no other object has costs the parser up to a microsecond.
 */
const MAX_VALUES = 250_000

const tooDeep = (): GatewayError =>
  new GatewayError('invalid_request', `JSON may be nested ${MAX_DEPTH} levels deep at most`)

const tooWide = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    `a body may hold at most ${MAX_VALUES} members of objects and elements of arrays`,
  )

// UTF-16 code units.
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * Counts brackets and commas before parsing, because thirty million brackets cost the parser two seconds and two gigabytes, and
 * two million members two seconds. An object or array has one value more than commas, so an opening bracket counts like a
 * comma. Strings are skipped with a native search, so that an image costs almost nothing.
 * @throws invalid_request
 */
export function checkUnparsed(text: string, bytes: number): void {
  if (bytes <= HARMLESS_BYTES) return
  let depth = 0
  let values = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) {
      i = endOfString(text, i)
    } else if (unit === COMMA || unit === OPEN_BRACKET || unit === OPEN_BRACE) {
      if (unit !== COMMA && ++depth > MAX_DEPTH) throw tooDeep()
      if (++values > MAX_VALUES) throw tooWide()
    } else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth--
  }
}

/** The first duplicate name at the top level; JSON.parse silently keeps the last value. `text` must be valid JSON. */
export function repeatedName(text: string): string | undefined {
  const names = new Set<string>()
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === OPEN_BRACKET || unit === OPEN_BRACE) depth++
    else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth--
    else if (unit === QUOTE) {
      const end = endOfString(text, i)
      if (depth === 1 && isName(text, end)) {
        // Compared after decoding, because a character may be written as an escape.
        const name = JSON.parse(text.slice(i, end + 1)) as string
        if (names.has(name)) return name
        names.add(name)
      }
      i = end
    }
  }
  return undefined
}

/** Whether a colon follows the string that ends at `end`, after optional white space. */
function isName(text: string, end: number): boolean {
  let next = end + 1
  while (text.charCodeAt(next) <= SPACE) next++
  return text.charCodeAt(next) === COLON
}

/** The position of the closing quote of the string that begins at `start`, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
  return slashes % 2 === 1
}

/**
 * Checks the depth, and rejects numbers too large for a double. Returns whether a number is beyond 2^53, so that the parser may
 * have rounded it. @throws invalid_request
 */
export function checkParsed(value: unknown, depth = 1): boolean {
  if (typeof value === 'number') {
    if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return false
    if (Number.isFinite(value)) return true
    throw new GatewayError('invalid_request', 'a number in the body is too large')
  }
  if (typeof value !== 'object' || value === null) return false
  if (depth > MAX_DEPTH) throw tooDeep()
  let isLarge = false
  if (Array.isArray(value)) {
    for (const item of value) if (checkParsed(item, depth + 1)) isLarge = true
  } else {
    for (const name in value) {
      if (checkParsed((value as Record<string, unknown>)[name], depth + 1)) isLarge = true
    }
  }
  return isLarge
}
