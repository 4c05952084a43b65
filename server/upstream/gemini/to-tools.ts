/** Ours → theirs: `tools` and `tool_choice`. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toSchema } from './to-schema.ts'
import type { FunctionDeclaration, GenerateContentRequest, ToolConfig } from './wire.ts'

/** Empty without tools, whatever the choice. @throws UpstreamFailure `rejected` */
export function toTools(body: JsonObject): Pick<GenerateContentRequest, 'tools' | 'toolConfig'> {
  const functionDeclarations = readList(body['tools']).map(toDeclaration)
  if (functionDeclarations.length === 0) return {}
  const toolConfig = toToolConfig(body['tool_choice'])
  return { tools: [{ functionDeclarations }], ...(toolConfig && { toolConfig }) }
}

function toDeclaration(tool: unknown, index: number): FunctionDeclaration {
  const { type, function: stated } = readObject(tool)
  if (type !== 'function') throw rejected(`tools[${index}]`, 'only functions can be offered')
  const { name: called, description, parameters } = readObject(stated)
  const name = readText(called)
  if (name === undefined) throw rejected(`tools[${index}].function.name`, 'is required')
  const words = readText(description)
  return {
    name,
    ...(words !== undefined && { description: words }),
    ...(hasParameters(parameters) && { parametersJsonSchema: toSchema(parameters) }),
  }
}

/** A function without arguments is declared without schema: Gemini long refused an object without properties. */
function hasParameters(schema: unknown): boolean {
  if (!isObject(schema) || Object.keys(schema).length === 0) return false
  const { type, properties } = schema
  return type !== 'object' || !isObject(properties) || Object.keys(properties).length > 0
}

function toToolConfig(choice: unknown): ToolConfig | undefined {
  if (choice === undefined || choice === null) return undefined
  const { type, function: named, allowed_tools: allowed } = readObject(choice)
  if (choice === 'auto') return { functionCallingConfig: { mode: 'AUTO' } }
  if (choice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  if (choice === 'required') return { functionCallingConfig: { mode: 'ANY' } }
  if (type === 'function') return toAllowed('ANY', [named])
  if (type === 'allowed_tools') {
    const { mode, tools } = readObject(allowed)
    const functions = readList(tools).map((tool) => readObject(tool)['function'])
    // AUTO accepts no list of names; VALIDATED is AUTO with one.
    return toAllowed(mode === 'required' ? 'ANY' : 'VALIDATED', functions)
  }
  throw rejected('tool_choice', 'cannot be said on this wire')
}

const toAllowed = (mode: 'ANY' | 'VALIDATED', functions: readonly unknown[]): ToolConfig => ({
  functionCallingConfig: {
    mode,
    allowedFunctionNames: functions.flatMap((one) => readText(readObject(one)['name']) ?? []),
  },
})
