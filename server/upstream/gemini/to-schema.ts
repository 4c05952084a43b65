/** Ours → theirs: a JSON Schema without the keywords that Gemini refuses; it takes most others as they are. */
import { isObject } from '../read-json.ts'

const REFUSED: ReadonlySet<string> = new Set([
  '$schema',
  'discriminator',
  'examples',
  'exclusiveMinimum',
  'exclusiveMaximum',
])
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

/** A property may well be called `examples`: only keywords are left out, and `const` becomes an `enum` of one. */
export function toSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toSchema)
  if (!isObject(schema)) return schema
  const clean: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (REFUSED.has(keyword)) continue
    if (keyword === 'const') clean['enum'] = [value]
    else if (NESTED.has(keyword)) clean[keyword] = toSchema(value)
    else if (BY_NAME.has(keyword) && isObject(value)) clean[keyword] = toSchemas(value)
    else clean[keyword] = value
  }
  return clean
}

const toSchemas = (byName: object): object =>
  Object.fromEntries(Object.entries(byName).map(([name, schema]) => [name, toSchema(schema)]))
