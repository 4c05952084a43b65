/** Readers for untrusted JSON: a field of the wrong type reads as absent. */
import type { JsonObject } from '#domain/chat.ts'

/** Whether `value` is a JSON object: no array, not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `value`, or an empty object when it is none. */
export const readObject = (value: unknown): JsonObject => (isObject(value) ? value : NO_FIELDS)

const NO_FIELDS: JsonObject = Object.freeze({})

/** A non-empty string. */
export const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** `value`, or an empty array when it is none. */
export const readList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : NOTHING

const NOTHING: readonly unknown[] = Object.freeze([])

const MAX_CHOICES = 128

/** The provider's index of a choice, else its position. Bounded, because clients allocate by it. */
export const readChoiceIndex = (value: unknown, position: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_CHOICES
    ? value
    : position

/** The fields that are not in `known` and not empty; null when there are none. */
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
