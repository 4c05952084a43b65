/** Whether other vendors hold a model to a schema: they do only where each object names all of its members, and requires them. */
import { isObject, readList, readObject } from '#domain/json.ts'

/** Where in doubt, not: a model that is not held to a schema still sees it, and a schema that is refused is no answer. */
export function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed)
  if (!isObject(schema)) return true
  const { type, properties, required, additionalProperties: others } = schema
  if (type === 'object' || isObject(properties)) {
    const needed = readList(required)
    const isAll = Object.keys(readObject(properties)).every((name) => needed.includes(name))
    if (others !== false || !isAll) return false
  }
  return Object.values(schema).every(isClosed)
}
