/** Ours → theirs: `tools` and `tool_choice`. */
import type { Tool, ToolChoice } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import type { ModelCapabilities } from './model-capabilities.ts'
import { toCacheMark } from './to-content.ts'
import type { Turn } from './to-messages.ts'

export interface Tools {
  readonly tools?: Tool[]
  readonly tool_choice?: ToolChoice
}

/** @throws UpstreamFailure `rejected` for tools other than functions */
export function toTools(
  body: JsonObject,
  turns: readonly Turn[],
  capabilities: ModelCapabilities,
): Tools {
  const tools = readList(body['tools']).map((tool, i) => toTool(tool, `tools[${i}]`, capabilities))
  if (tools.length === 0) return toPreviousTools(turns)
  const single = body['parallel_tool_calls'] === false
  const allowed = readAllowedTools(body['tool_choice'])
  if (allowed !== null) return toAllowedTools(tools, allowed, single)
  const choice = toChoice(body['tool_choice'], single)
  return { tools, ...(choice && { tool_choice: choice }) }
}

interface AllowedTools {
  readonly names: ReadonlySet<string | undefined>
  readonly mode: 'auto' | 'required'
}

/** OpenAI's `allowed_tools`; null for any other choice. */
function readAllowedTools(choice: unknown): AllowedTools | null {
  const { type, allowed_tools: stated } = readObject(choice)
  if (type !== 'allowed_tools') return null
  const { mode, tools } = readObject(stated)
  const names = readList(tools).map((tool) =>
    readText(readObject(readObject(tool)['function'])['name']),
  )
  return { names: new Set(names), mode: mode === 'required' ? 'required' : 'auto' }
}

/** The API has no equivalent: only the allowed tools are declared; when none is allowed, the choice is `none`. */
function toAllowedTools(
  tools: readonly Tool[],
  { names, mode }: AllowedTools,
  single: boolean,
): Tools {
  const some = tools.filter(({ name }) => names.has(name))
  if (some.length === 0) return { tools: [...tools], tool_choice: { type: 'none' } }
  const choice = toChoice(mode, single)
  return { tools: some, ...(choice && { tool_choice: choice }) }
}

function toTool(value: unknown, path: string, { strictTools }: ModelCapabilities): Tool {
  const tool = readObject(value)
  const { name, description, parameters, strict } = readObject(tool['function'])
  if (tool['type'] !== 'function' || typeof name !== 'string') {
    throw rejected(path, 'this model takes tools of type "function", with a name')
  }
  return {
    name,
    ...(typeof description === 'string' && { description }),
    input_schema: { type: 'object', properties: {}, ...(isObject(parameters) && parameters) },
    ...(strict === true && strictTools && { strict }),
    ...toCacheMark(tool),
  }
}

function toChoice(choice: unknown, single: boolean): ToolChoice | undefined {
  const alone = single ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return single ? { type: 'auto', ...alone } : undefined
  if (choice === 'auto') return { type: 'auto', ...alone }
  if (choice === 'none') return { type: 'none' }
  if (choice === 'required') return { type: 'any', ...alone }
  const name = readText(readObject(readObject(choice)['function'])['name'])
  if (name === undefined) {
    throw rejected(
      'tool_choice',
      'must be "auto", "none", "required", a named function or "allowed_tools"',
    )
  }
  return { type: 'tool', name, ...alone }
}

/** The API requires that tools called earlier are declared, also when the request offers none. */
function toPreviousTools(turns: readonly Turn[]): Tools {
  const names = new Set(
    turns.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
    ),
  )
  if (names.size === 0) return {}
  return {
    tools: [...names].map((name) => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  }
}
