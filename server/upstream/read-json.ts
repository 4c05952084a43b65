/** Narrow readers for JSON that a provider sent: a field of the wrong shape reads as absent. */
import type { JsonObject } from '#domain/chat.ts'

/** Whether `value` is a JSON object, no array and not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object at hand, or an empty one, so that its fields read as absent. */
export const readObject = (value: unknown): JsonObject => (isObject(value) ? value : NO_FIELDS)

const NO_FIELDS: JsonObject = Object.freeze({})

/** A text with something in it. */
export const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** A list, or an empty one. */
export const readList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : NOTHING

const NOTHING: readonly unknown[] = Object.freeze([])

const MOST_CHOICES = 128

/** The index of a choice as the provider says it, else its place; bounded, because a client's memory hangs on it. */
export const readChoiceIndex = (value: unknown, position: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MOST_CHOICES
    ? value
    : position

/** The fields beside the known ones that hold something, or null when there are none. */
export function readUnknownFields(
  object: JsonObject,
  known: ReadonlySet<string>,
): JsonObject | null {
  let fields: Record<string, unknown> | null = null
  for (const name in object) {
    if (known.has(name)) continue
    const value = object[name]
    if (value === null || value === undefined) continue
    if (Array.isArray(value) && value.length === 0) continue
    fields ??= {}
    fields[name] = value
  }
  return fields
}
