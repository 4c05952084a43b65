/** Names that an object of a body has more than once: JSON.parse keeps the last value, and another parser may take the first. */
import { GatewayError } from '#domain/errors.ts'
import type { JsonBody } from './body.ts'

/** The first at the top level. */
export function repeatedName({ members }: Pick<JsonBody, 'members'>): string | undefined {
  const names = new Set<string>()
  for (const { name } of members) {
    if (names.has(name)) return name
    names.add(name)
  }
  return undefined
}

/**
 * For a body that leaves as it came: what is judged, held and charged must be what its provider reads.
 * @throws invalid_request for a name that is repeated in any object of it
 */
export function rejectRepeatedNames(body: JsonBody): void {
  if (!body.repeatsNames) return
  const name = repeatedName(body)?.slice(0, MAX_NAME_CHARS)
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
