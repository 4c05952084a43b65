/** Ours → theirs: what the assistant said: text, tool calls and signed thinking blocks. */
import type { ContentBlockParam, ToolUseBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Part, Turn } from '#domain/conversation.ts'
import { isObject, parseExactly } from '#domain/json.ts'
import { rejected } from '../rejected.ts'
import { isThinkingBlock } from './thinking-blocks.ts'
import { toText } from './to-content.ts'

/** Thinking without other content (a truncated answer) must not be sent back. @throws UpstreamFailure `rejected` */
export function toAssistant({ parts, path }: Turn): readonly ContentBlockParam[] {
  const blocks = parts.flatMap((part) => toBlock(part, path))
  return blocks.every(isThinkingBlock) ? [] : blocks
}

function toBlock(part: Part, path: string): readonly ContentBlockParam[] {
  switch (part.type) {
    case 'call':
      return [toToolUse(part)]
    case 'thinking': {
      const { text, signature, origin } = part
      if (origin.family !== 'anthropic' || signature === '') return []
      return [{ type: 'thinking', thinking: text, signature }]
    }
    case 'redacted':
      return part.origin.family === 'anthropic'
        ? [{ type: 'redacted_thinking', data: part.data }]
        : []
    case 'reasoning':
      return []
    case 'image':
      return part.isDrawn ? [] : toText([part], path)
    default:
      return toText([part], path)
  }
}

/** An id in the characters that this API allows; another provider may have issued it earlier in the conversation. */
export const toToolId = (id: string): string => id.replace(/[^\w-]/g, '_')

function toToolUse({ id, name, kind, path, ...call }: CallPart): ToolUseBlockParam {
  if (id === undefined || name === undefined || kind !== 'function') {
    throw rejected(path, 'must be a function call with an id and a name')
  }
  const input = readArguments(call.arguments, call.argumentsPath)
  return { type: 'tool_use', id: toToolId(id), name, input }
}

function readArguments(text: string, path: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const read: unknown = parseExactly(text)
    if (isObject(read)) return read
  } catch {
    // Rejected below, like JSON that is not an object.
  }
  throw rejected(path, 'must be a JSON object')
}
