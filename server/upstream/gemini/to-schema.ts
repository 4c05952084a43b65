/** Ours → theirs: a JSON Schema without the keywords that Gemini refuses; it takes most others as they are. */
import type { JsonObject } from '#domain/chat.ts'
import { mapSchemas } from '../json-schema.ts'

const REFUSED: ReadonlySet<string> = new Set([
  '$schema',
  'discriminator',
  'examples',
  'exclusiveMinimum',
  'exclusiveMaximum',
])

/** A property may well be called `examples`: only keywords are left out, and `const` becomes an `enum` of one. */
export const toSchema = (schema: unknown): unknown => mapSchemas(schema, withoutRefused)

const withoutRefused = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !REFUSED.has(keyword))
      .map(([keyword, value]) => (keyword === 'const' ? ['enum', [value]] : [keyword, value])),
  )
