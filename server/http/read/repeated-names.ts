/** Names that an object of a body has more than once: JSON.parse keeps the last value, and another parser may take the first. */
import type { JsonObject } from '#domain/chat.ts'
import { GatewayError } from '#domain/errors.ts'
import { endOfString, readMembers } from '#domain/json-text.ts'

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
 * For a body that leaves as it came: what is judged, held and charged must be what its provider reads. `text` is the JSON from
 * which `fields` was parsed. @throws invalid_request for a name that is repeated in any object of it
 */
export function rejectRepeatedNames(text: string, fields: JsonObject): void {
  if (namesIn(text) === namesOf(fields)) return
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

const COLON = 0x3a
const SPACE = 0x20

/** How many names are written: strings before a colon. */
function namesIn(text: string): number {
  let names = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = endOfString(text, start)
    let next = end + 1
    while (text.charCodeAt(next) <= SPACE) next++
    if (text.charCodeAt(next) === COLON) names++
    start = text.indexOf('"', end + 1)
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
