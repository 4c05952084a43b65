/** Ours → theirs: the tools, and the choice among them. */
import type { Conversation, Tool, ToolChoice } from '#domain/conversation.ts'
import { isObject } from '#domain/json.ts'
import { rejected, rejectTool } from '../rejected.ts'
import type { ToolNames } from '../tool-names.ts'
import { toSchema } from './to-schema.ts'
import type { FunctionDeclaration, GenerateContentRequest, ToolConfig } from './wire.ts'

/** Empty without tools, whatever the choice. @throws UpstreamFailure `rejected` */
export function toTools(
  { tools, toolChoice }: Conversation,
  names: ToolNames,
): Pick<GenerateContentRequest, 'tools' | 'toolConfig'> {
  const functionDeclarations = tools.map((tool) => toDeclaration(tool, names))
  if (functionDeclarations.length === 0) return {}
  const toolConfig = toolChoice && toToolConfig(toolChoice, names)
  return { tools: [{ functionDeclarations }], ...(toolConfig && { toolConfig }) }
}

function toDeclaration(tool: Tool, names: ToolNames): FunctionDeclaration {
  if (tool.type === 'unknown') throw rejectTool(tool)
  if (tool.type !== 'function') throw rejected(tool.path, 'only functions can be offered')
  const { name, namespace, namePath, description, schema } = tool
  if (!name) throw rejected(namePath, 'is required')
  return {
    name: names.toWire(name, namespace),
    ...(description && { description }),
    ...(hasParameters(schema) && { parametersJsonSchema: toSchema(schema) }),
  }
}

/** A function without arguments is declared without schema: Gemini long refused an object without properties. */
function hasParameters(schema: unknown): boolean {
  if (!isObject(schema) || Object.keys(schema).length === 0) return false
  const { type, properties } = schema
  return type !== 'object' || !isObject(properties) || Object.keys(properties).length > 0
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const

function toToolConfig(choice: ToolChoice, names: ToolNames): ToolConfig {
  switch (choice.mode) {
    case 'unknown':
      throw rejected('tool_choice', 'cannot be said on this wire')
    case 'tool':
      return toAllowed('ANY', [names.toWire(choice.name)])
    case 'allowed':
      // AUTO accepts no list of names; VALIDATED is AUTO with one.
      return toAllowed(
        choice.isRequired ? 'ANY' : 'VALIDATED',
        choice.names.map((name) => names.toWire(name)),
      )
    default:
      return { functionCallingConfig: { mode: MODES[choice.mode] } }
  }
}

const toAllowed = (
  mode: 'ANY' | 'VALIDATED',
  allowedFunctionNames: readonly string[],
): ToolConfig => ({ functionCallingConfig: { mode, allowedFunctionNames } })
