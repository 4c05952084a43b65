/** `tools` and `tool_choice` of a chat request. */
import type { JsonObject } from '#domain/chat.ts'
import type { Tool, ToolChoice } from '#domain/conversation.ts'
import { isObject, readList, readObject, readString, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'

export const toTools = (tools: unknown): readonly Tool[] =>
  readList(tools).map((tool, i) => toTool(tool, `tools[${i}]`))

function toTool(value: unknown, path: string): Tool {
  const tool = readObject(value)
  const { type } = tool
  if (type === 'custom') {
    const { name, description, format } = readObject(tool['custom'])
    return { type, path, ...toWords(name, description), ...(isObject(format) && { format }) }
  }
  if (type !== 'function') return { type: 'unknown', path, word: String(type) }
  const { name, description, parameters, strict } = readObject(tool['function'])
  return {
    type,
    path,
    namePath: `${path}.function.name`,
    ...toWords(name, description),
    ...(isObject(parameters) && { schema: parameters }),
    isStrict: strict === true,
    ...toCacheMark(tool),
  }
}

function toWords(name: unknown, description: unknown) {
  const called = readString(name)
  const words = readString(description)
  return {
    ...(called !== undefined && { name: called }),
    ...(words !== undefined && { description: words }),
  }
}

export function toToolChoice(choice: unknown): ToolChoice {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice }
  const { type, allowed_tools: allowed, ...named } = readObject(choice)
  if (type === 'allowed_tools') {
    const { mode, tools } = readObject(allowed)
    const names = readList(tools).flatMap((tool) => nameOf(readObject(tool)) ?? [])
    return { mode: 'allowed', names, isRequired: mode === 'required' }
  }
  const name = nameOf(named)
  return name === undefined ? { mode: 'unknown' } : { mode: 'tool', name }
}

/** Of a function, or a custom tool. */
const nameOf = ({ function: named, custom }: JsonObject): string | undefined =>
  readText(readObject(named ?? custom)['name'])
