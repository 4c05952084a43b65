/** Numbers the entries of streamed lists: clients merge them by `index`, and OpenAI's library for Python fails without one. */

import type { JsonObject } from '#domain/chat.ts'
import { isObject } from '#domain/json.ts'

/** The last entry of one list of a choice, and the first index that is free. */
interface Numbered {
  readonly last: JsonObject
  readonly next: number
}

/** By the name of the list; one per choice. */
export type Numbering = Map<string, Numbered>

/** Entries that have an index keep it; returns `fields` itself if all have. */
export function numberEntries(fields: JsonObject, numbering: Numbering): JsonObject {
  let changed: Record<string, unknown> | null = null
  for (const name in fields) {
    const list = fields[name]
    if (!Array.isArray(list) || !list.every(isObject)) continue
    const entries = list.map((entry) => number(entry, name, numbering))
    if (entries.every((entry, position) => entry === list[position])) continue
    changed ??= { ...fields }
    changed[name] = entries
  }
  return changed ?? fields
}

function number(entry: JsonObject, name: string, numbering: Numbering): JsonObject {
  const before = numbering.get(name)
  const stated = entry['index']
  const hasIndex = typeof stated === 'number'
  const isMore = before !== undefined && continues(before.last, entry)
  const index = hasIndex ? stated : before === undefined ? 0 : before.next - (isMore ? 1 : 0)
  numbering.set(name, {
    last: entry,
    next: Math.max(index + 1, hasIndex ? 0 : (before?.next ?? 0)),
  })
  return hasIndex ? entry : { ...entry, index }
}

/** The types of OpenRouter's `reasoning_details` whose text comes in pieces; a signature is the end of one. */
const IN_PIECES: ReadonlySet<unknown> = new Set(['reasoning.text', 'reasoning.summary'])

const continues = (last: JsonObject, entry: JsonObject): boolean =>
  IN_PIECES.has(entry['type']) &&
  last['type'] === entry['type'] &&
  typeof last['signature'] !== 'string' &&
  (!isSet(entry['id']) || entry['id'] === last['id'])

const isSet = (value: unknown): boolean => value !== null && value !== undefined
