/** Ours → theirs: assistant messages: text, tool calls and signed thinking blocks. */
import type { ContentBlockParam, ToolUseBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '#domain/chat.ts'
import { parseExactly } from '#domain/exact-json.ts'
import { isObject, readList, readObject, readText } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { fromReasoningDetails, type ThinkingBlock } from './thinking-blocks.ts'
import { toText } from './to-content.ts'

/** The blocks of an assistant message. @throws UpstreamFailure `rejected` */
export function toAssistant(message: JsonObject, path: string): readonly ContentBlockParam[] {
  const text = toText(message['content'], `${path}.content`)
  const said = text.length > 0 ? text : toText(message['refusal'] ?? '', `${path}.refusal`)
  const calls = readList(message['tool_calls']).map((call, i) =>
    toToolUse(readObject(call), `${path}.tool_calls[${i}]`),
  )
  return insertThinking(findThinking(message), [...said, ...calls])
}

/** An id in the characters that this API allows; another provider may have issued it earlier in the conversation. */
export const toToolId = (id: string): string => id.replace(/[^\w-]/g, '_')

function toToolUse(call: JsonObject, path: string): ToolUseBlockParam {
  const id = readText(call['id'])
  const { name, arguments: text } = readObject(call['function'])
  if (id === undefined || typeof name !== 'string') {
    throw rejected(path, 'must be a function call with an id and a name')
  }
  return { type: 'tool_use', id: toToolId(id), name, input: readArguments(text, path) }
}

function readArguments(text: unknown, path: string): JsonObject {
  if (isObject(text)) return text
  if (typeof text !== 'string' || text.trim() === '') return {}
  try {
    const read: unknown = parseExactly(text)
    if (isObject(read)) return read
  } catch {
    // Rejected below, like JSON that is not an object.
  }
  throw rejected(`${path}.function.arguments`, 'must be a JSON object')
}

/** In the message, or when the client kept only the tool calls, in those. */
function findThinking(message: JsonObject): readonly ThinkingBlock[] {
  const thoughts = fromReasoningDetails(message['reasoning_details'])
  if (thoughts.length > 0) return thoughts
  return readList(message['tool_calls']).flatMap((call) =>
    fromReasoningDetails(readObject(call)['reasoning_details']),
  )
}

/** Inserts each at its index. Thinking without other content (a truncated answer) must not be sent back. */
function insertThinking(
  thoughts: readonly ThinkingBlock[],
  others: readonly ContentBlockParam[],
): readonly ContentBlockParam[] {
  if (others.length === 0) return []
  const placed: ContentBlockParam[] = []
  const rest = [...others]
  for (const { index, block } of thoughts) {
    // The last block must not be a thinking block.
    while (rest.length > 1 && placed.length < index) placed.push(...rest.splice(0, 1))
    placed.push(block)
  }
  return [...placed, ...rest]
}
