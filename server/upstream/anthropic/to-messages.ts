/** Ours → theirs: turns as a system prompt and alternating messages. */
import type {
  ContentBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { Part, ResultPart, Turn } from '#domain/conversation.ts'
import { rejected } from '../rejected.ts'
import { toReminder } from '../system-reminder.ts'
import { toAssistant, toToolId } from './to-assistant.ts'
import { toContent, toText } from './to-content.ts'

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: readonly ContentBlockParam[]
}

export interface Messages {
  readonly system: readonly TextBlockParam[]
  /** Never empty. */
  readonly messages: readonly Message[]
}

/**
 * System turns at the start become the system prompt, later ones keep their place; consecutive turns of one role become one message.
 * @throws UpstreamFailure `rejected`
 */
export function toMessages(turns: readonly Turn[]): Messages {
  const system: TextBlockParam[] = []
  const messages: Growing[] = []
  for (const turn of turns) {
    const { role, parts, path } = turn
    if (role === 'system') {
      const said = toText(parts, path)
      if (messages.length === 0) system.push(...said)
      else append(messages, 'user', toContent(toReminder(parts), path))
    } else if (role === 'assistant') append(messages, role, toAssistant(turn))
    else {
      const content = parts.flatMap((part) => toUserBlocks(part, path))
      append(messages, role, content)
    }
  }
  // Without other messages the instructions are sent as the user's.
  if (messages.length === 0) append(messages, 'user', system.splice(0))
  if (messages.length === 0) throw rejected('messages', 'there is nothing to answer in them')
  return { system, messages: messages.map(arrange) }
}

/** A message to which turns are appended: copied with each of many, it would hold up all requests. */
interface Growing extends Message {
  readonly content: ContentBlockParam[]
}

function append(
  messages: Growing[],
  role: Message['role'],
  content: readonly ContentBlockParam[],
): void {
  if (content.length === 0) return
  const last = messages.at(-1)
  if (last?.role !== role) messages.push({ role, content: [...content] })
  else for (const block of content) last.content.push(block)
}

const toUserBlocks = (part: Part, path: string): readonly ContentBlockParam[] =>
  part.type === 'result' ? [toToolResult(part)] : toContent([part], path)

function toToolResult({
  callId,
  callIdPath,
  parts,
  path,
  isError,
}: ResultPart): ToolResultBlockParam {
  if (callId === undefined) throw rejected(callIdPath, 'must name the call it answers')
  const content = toContent(parts, path)
  return {
    type: 'tool_result',
    tool_use_id: toToolId(callId),
    ...(content.length > 0 && { content: [...content] }),
    ...(isError && { is_error: true }),
  }
}

/** Tool results must come first in a user's message; a final assistant text (a prefill) must not end in white space. */
function arrange({ role, content }: Message, index: number, all: readonly Message[]): Message {
  if (role === 'user') {
    const isResult = ({ type }: ContentBlockParam): boolean => type === 'tool_result'
    const others = content.filter((block) => !isResult(block))
    return { role, content: [...content.filter(isResult), ...others] }
  }
  const last = content.at(-1)
  if (index < all.length - 1 || last?.type !== 'text') return { role, content }
  return { role, content: [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }] }
}
