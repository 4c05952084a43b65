/** Names that an object of a body has more than once: JSON.parse keeps the last value, and another parser may take the first. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { COLON, endOfString, QUOTE, readMembers } from '#domain/json-text.ts'
import type { Body } from './body.ts'

/** The first at the top level. `text` must be a valid JSON object. */
export function repeatedName(text: string): string | undefined {
  const names = new Set<string>()
  for (const { name } of readMembers(text)) {
    if (names.has(name)) return name
    names.add(name)
  }
  return undefined
}

/**
 * For a body that leaves as it came: what is judged, held and charged must be what its provider reads.
 * @throws invalid_request for a name that is repeated in any object of it
 */
export function rejectRepeatedNames({ text, fields, names }: Required<Body>): void {
  if ((names ?? namesIn(text)) === namesOf(fields)) return
  const name = repeatedName(text)?.slice(0, MAX_NAME_CHARS)
  throw new GatewayError(
    'invalid_request',
    name === undefined
      ? 'an object in the body has a name more than once'
      : `${name}: is stated more than once`,
    name === undefined ? {} : { param: name },
  )
}

/** The longest name that an error repeats. */
const MAX_NAME_CHARS = 64

/** How many names are written: a colon outside of strings follows each. */
function namesIn(text: string): number {
  let names = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) i = endOfString(text, i)
    else if (unit === COLON) names++
  }
  return names
}

/** How many were kept. */
function namesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let names = 0
  if (Array.isArray(value)) {
    for (const item of value) names += namesOf(item)
  } else {
    for (const name in value) names += 1 + namesOf((value as JsonObject)[name])
  }
  return names
}
