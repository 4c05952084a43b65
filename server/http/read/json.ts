/** Untrusted JSON that was parsed: a field of the wrong type reads as absent. */
import type { JsonObject } from '#domain/chat.ts'

/** Whether `value` is a JSON object: no array, not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `value`, or an empty object when it is none. */
export const readObject = (value: unknown): JsonObject => (isObject(value) ? value : NO_FIELDS)

const NO_FIELDS: JsonObject = Object.freeze({})

/** `value`, or an empty array when it is none. */
export const readList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : NOTHING

const NOTHING: readonly unknown[] = Object.freeze([])

/** A string, which may be empty. */
export const readString = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

/** A string that is not empty. */
export const readText = (value: unknown): string | undefined => readString(value) || undefined

export const readNumber = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined
