/** JSON Schemas on their way to a wire that takes less than all of the language. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject } from './read-json.ts'

/** Keywords whose members are schemas by name, and those that hold a schema or a list of them. */
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
 * The same schema with each one in it, innermost first, as `change` makes it. Only what is a schema is looked into: a property
 * may well be called "items", and a default is anything.
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
