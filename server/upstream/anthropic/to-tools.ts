/** Ours → theirs: the tools, and the choice among them. */
import type { Tool, ToolChoice } from '@anthropic-ai/sdk/resources/messages'
import type { ToolChoice as Choice, Conversation, Tool as Offered } from '#domain/conversation.ts'
import { rejected } from '../rejected.ts'
import type { ModelCapabilities } from './model-capabilities.ts'
import { toCacheMark } from './to-content.ts'
import type { Message } from './to-messages.ts'

export interface Tools {
  readonly tools?: Tool[]
  readonly tool_choice?: ToolChoice
}

/** @throws UpstreamFailure `rejected` for tools other than functions */
export function toTools(
  { tools: offered, toolChoice, parallelToolCalls }: Conversation,
  messages: readonly Message[],
  capabilities: ModelCapabilities,
): Tools {
  const tools = offered.map((tool) => toTool(tool, capabilities))
  if (tools.length === 0) return toPreviousTools(messages)
  if (toolChoice?.mode === 'allowed') return toAllowedTools(tools, toolChoice, !parallelToolCalls)
  const choice = toChoice(toolChoice, !parallelToolCalls)
  return { tools, ...(choice && { tool_choice: choice }) }
}

/** The API has no equivalent: only the allowed tools are declared; when none is allowed, the choice is `none`. */
function toAllowedTools(
  tools: readonly Tool[],
  { names, isRequired }: Extract<Choice, { mode: 'allowed' }>,
  single: boolean,
): Tools {
  const some = tools.filter(({ name }) => names.includes(name))
  if (some.length === 0) return { tools: [...tools], tool_choice: { type: 'none' } }
  const choice = toChoice({ mode: isRequired ? 'required' : 'auto' }, single)
  return { tools: some, ...(choice && { tool_choice: choice }) }
}

function toTool(tool: Offered, { strictTools }: ModelCapabilities): Tool {
  if (tool.type !== 'function' || tool.name === undefined) {
    throw rejected(tool.path, 'this model takes tools of type "function", with a name')
  }
  const { name, description, schema, isStrict } = tool
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: { type: 'object', properties: {}, ...schema },
    ...(isStrict && strictTools && { strict: true }),
    ...toCacheMark(tool),
  }
}

function toChoice(choice: Choice | undefined, single: boolean): ToolChoice | undefined {
  const alone = single ? { disable_parallel_tool_use: true } : {}
  switch (choice?.mode) {
    case undefined:
      return single ? { type: 'auto', ...alone } : undefined
    case 'auto':
      return { type: 'auto', ...alone }
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any', ...alone }
    case 'tool':
      return { type: 'tool', name: choice.name, ...alone }
    default:
      throw rejected(
        'tool_choice',
        'must be "auto", "none", "required", a named function or "allowed_tools"',
      )
  }
}

/** The API requires that tools called earlier are declared, also when the request offers none. */
function toPreviousTools(messages: readonly Message[]): Tools {
  const names = new Set(
    messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
    ),
  )
  if (names.size === 0) return {}
  return {
    tools: [...names].map((name) => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  }
}
