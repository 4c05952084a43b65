/** `tools` and `tool_choice` of a Messages request. */
import type { JsonObject } from '#domain/chat.ts'
import type { Tool, ToolChoice } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { isClosed } from './is-closed.ts'

export const toTools = (tools: unknown): readonly Tool[] =>
  readList(tools).map((tool, i) => toTool(readObject(tool), `tools[${i}]`))

/** Tools of a type are Anthropic's: its models know them, and what they take, without being told. */
function toTool(tool: JsonObject, path: string): Tool {
  const { type, input_schema: schema, strict } = tool
  if (type !== undefined && type !== null && type !== 'custom') {
    return { type: 'unknown', path, word: String(type) }
  }
  const name = readText(tool['name'])
  const description = readString(tool['description'])
  return {
    type: 'function',
    path,
    namePath: `${path}.name`,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(isObject(schema) && { schema: withoutDialect(schema) }),
    isStrict: strict === true && isClosed(schema),
    ...toCacheMark(tool),
  }
}

/** Which version of JSON Schema it is: others refuse to be told. */
const withoutDialect = ({ $schema: _, ...schema }: JsonObject): JsonObject => schema

export function toToolChoice({ type, name }: JsonObject): ToolChoice {
  switch (type) {
    case 'auto':
    case 'none':
      return { mode: type }
    case 'any':
      return { mode: 'required' }
    default: {
      const named = type === 'tool' ? readText(name) : undefined
      return named === undefined ? { mode: 'unknown' } : { mode: 'tool', name: named }
    }
  }
}
