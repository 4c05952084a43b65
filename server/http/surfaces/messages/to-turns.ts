/** `system` and `messages` as turns of a conversation. */
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Part, ResultPart, Turn } from '#domain/conversation.ts'
import { readList, readObject, readString, readText } from '#domain/json.ts'
import { toCacheMark } from '../to-cache-mark.ts'
import { type ContentPart, toBlocks, toParts, toUnknown } from './to-parts.ts'

export function toTurns({ system, messages }: JsonObject): readonly Turn[] {
  const parts = withoutBillingLine(toParts(system ?? [], 'system'))
  const said = readList(messages).map((message, i) => toTurn(readObject(message), `messages[${i}]`))
  return parts.length === 0 ? said : [{ role: 'system', path: 'system', parts }, ...said]
}

const BILLING_LINE = /^x-anthropic-billing-header:[^\n]*\n*/

/** Claude Code's first line. It changes with every request, so that no other vendor's cache of prefixes would ever be read. */
function withoutBillingLine(parts: readonly ContentPart[]): readonly ContentPart[] {
  const [first, ...others] = parts
  if (first?.type !== 'text' || !BILLING_LINE.test(first.text)) return parts
  const text = first.text.replace(BILLING_LINE, '')
  return text === '' ? others : [{ ...first, text }, ...others]
}

/** Instructions keep their place. */
function toTurn({ role, content }: JsonObject, at: string): Turn {
  const path = `${at}.content`
  switch (role) {
    case 'system':
    case 'user':
    case 'assistant':
      return { role, path, parts: toBlocks(content, path, toPart) }
    default:
      return { role: 'user', path, parts: [toUnknown(role, `${at}.role`)] }
  }
}

const ANTHROPIC = { family: 'anthropic' } as const

/** Null for what a text or an image is. */
function toPart(block: JsonObject, path: string): readonly Part[] | null {
  const { type, data } = block
  switch (type) {
    case 'tool_use':
      return [toCall(block, path)]
    case 'tool_result':
      return [toResult(block, path)]
    case 'thinking': {
      const signature = readString(block['signature']) ?? ''
      const text = readString(block['thinking']) ?? ''
      return [{ type, text, signature, origin: ANTHROPIC }]
    }
    case 'redacted_thinking':
      return [{ type: 'redacted', data: readString(data) ?? '', origin: ANTHROPIC }]
    case 'server_tool_use':
    case 'mcp_tool_use':
      return [{ type: 'server-call', path, data: block }]
    default:
      return isServerResult(type) ? [{ type: 'server-result', path, data: block }] : null
  }
}

const isServerResult = (type: unknown): boolean =>
  typeof type === 'string' && type.endsWith('_tool_result')

function toCall(block: JsonObject, path: string): CallPart {
  const id = readText(block['id'])
  const name = readText(block['name'])
  const { input } = block
  return {
    type: 'call',
    path,
    kind: 'function',
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    arguments: input === undefined ? '' : JSON.stringify(input),
    argumentsPath: `${path}.input`,
    ...toCacheMark(block),
  }
}

function toResult(block: JsonObject, path: string): ResultPart {
  const callId = readText(block['tool_use_id'])
  return {
    type: 'result',
    path,
    callIdPath: `${path}.tool_use_id`,
    ...(callId !== undefined && { callId }),
    parts: toParts(block['content'] ?? [], `${path}.content`),
    isError: block['is_error'] === true,
    ...toCacheMark(block),
  }
}
