/** Ours → theirs: a JSON Schema without the keywords that Gemini refuses. */
import type { JsonObject } from '#domain/chat.ts'
import { mapSchemas } from '../json-schema.ts'

const REFUSED: ReadonlySet<string> = new Set([
  '$schema',
  'discriminator',
  'examples',
  'exclusiveMinimum',
  'exclusiveMaximum',
])

/** Only keywords are removed, not properties of those names; `const` becomes an `enum` of one value. */
export const toSchema = (schema: unknown): unknown => mapSchemas(schema, withoutRefused)

const withoutRefused = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !REFUSED.has(keyword))
      .map(([keyword, value]) => (keyword === 'const' ? ['enum', [value]] : [keyword, value])),
  )
