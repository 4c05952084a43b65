/** Ours → theirs: messages as a system prompt and alternating turns. */
import type {
  ContentBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import { readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { toAssistant, toToolId } from './to-assistant.ts'
import { toContent, toText } from './to-content.ts'

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: readonly ContentBlockParam[]
}

export interface Conversation {
  readonly system: readonly TextBlockParam[]
  /** Never empty. */
  readonly turns: readonly Turn[]
}

/**
 * System and developer messages become the system prompt; consecutive messages of one role become one turn.
 * @throws UpstreamFailure `rejected`
 */
export function toMessages(messages: unknown): Conversation {
  const system: TextBlockParam[] = []
  const turns: Turn[] = []
  for (const [i, message] of readList(messages).map(readObject).entries()) {
    const path = `messages[${i}]`
    const { role, content } = message
    if (role === 'system' || role === 'developer') {
      system.push(...toText(content, `${path}.content`))
    } else if (role === 'assistant') append(turns, 'assistant', toAssistant(message, path))
    else if (role === 'tool') append(turns, 'user', [toToolResult(message, path)])
    else append(turns, 'user', toContent(content, `${path}.content`))
  }
  // Without other messages the instructions are sent as the user's.
  if (turns.length === 0) append(turns, 'user', system.splice(0))
  if (turns.length === 0) throw rejected('messages', 'there is nothing to answer in them')
  return { system, turns: turns.map(arrange) }
}

function append(turns: Turn[], role: Turn['role'], content: readonly ContentBlockParam[]): void {
  if (content.length === 0) return
  const last = turns.at(-1)
  if (last?.role !== role) turns.push({ role, content })
  else turns[turns.length - 1] = { role, content: [...last.content, ...content] }
}

function toToolResult(message: JsonObject, path: string): ToolResultBlockParam {
  const id = readText(message['tool_call_id'])
  if (id === undefined) throw rejected(`${path}.tool_call_id`, 'must name the call it answers')
  const content = toContent(message['content'], `${path}.content`)
  return {
    type: 'tool_result',
    tool_use_id: toToolId(id),
    ...(content.length > 0 && { content: [...content] }),
  }
}

/** Tool results must come first in a user turn; a final assistant text (a prefill) must not end in white space. */
function arrange({ role, content }: Turn, index: number, turns: readonly Turn[]): Turn {
  if (role === 'user') {
    const isResult = ({ type }: ContentBlockParam): boolean => type === 'tool_result'
    const others = content.filter((block) => !isResult(block))
    return { role, content: [...content.filter(isResult), ...others] }
  }
  const last = content.at(-1)
  if (index < turns.length - 1 || last?.type !== 'text') return { role, content }
  return { role, content: [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }] }
}
