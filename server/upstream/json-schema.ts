/** Transforms JSON Schemas for APIs that accept only a subset of the language. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject } from '#domain/json.ts'

/** Keywords that hold schemas by name; `NESTED`: those that hold a schema or a list of schemas. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
const NESTED: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'additionalProperties',
])

/**
 * Applies `change` to a schema and to each schema nested in it, innermost first. Property names and values such as `default`
 * are not schemas and stay as they are.
 */
export function mapSchemas(schema: unknown, change: (schema: JsonObject) => JsonObject): unknown {
  if (Array.isArray(schema)) return schema.map((one) => mapSchemas(one, change))
  if (!isObject(schema)) return schema
  const changeEach = ([keyword, value]: [string, unknown]) => {
    if (NESTED.has(keyword)) return [keyword, mapSchemas(value, change)]
    if (!BY_NAME.has(keyword) || !isObject(value)) return [keyword, value]
    const members = Object.entries(value).map(([name, one]) => [name, mapSchemas(one, change)])
    return [keyword, Object.fromEntries(members)]
  }
  return change(Object.fromEntries(Object.entries(schema).map(changeEach)))
}
