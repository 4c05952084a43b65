/** Ours → theirs: turns as the messages of a chat. */
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, MediaPart, Part, ResultPart, TextPart, Turn } from '#domain/conversation.ts'
import type { ProviderType } from '#domain/provider.ts'
import { type Answered, inOrder, type Said } from '../../in-order.ts'
import { rejected, rejectPart } from '../../rejected.ts'
import { toReminder } from '../../system-reminder.ts'
import type { ToolNames } from '../../tool-names.ts'
import { joinMessages } from './join-messages.ts'
import { toAudio, toFile, toUrl } from './media.ts'
import { toPlainId } from './plain-id.ts'

/** @throws UpstreamFailure `rejected` for a part that chat has no word for */
export function toMessages(
  turns: readonly Turn[],
  type: ProviderType,
  names: ToolNames,
): readonly JsonObject[] {
  const messages = inOrder(turns).flatMap((said) => toSaid(said, type, names))
  return KNOW_DEVELOPERS.has(type) ? messages : joinMessages(messages, type === 'mistral')
}

function toSaid(said: Said, type: ProviderType, names: ToolNames): readonly JsonObject[] {
  switch (said.role) {
    case 'system':
      return toInstruction(said.parts, said.isFirst, type)
    case 'assistant':
      return toAnswer(said.parts, type, names)
    case 'user':
      return toUserMessages(said.results, said.parts, type)
  }
}

/** Providers that know the role `developer`, and take it anywhere. */
const KNOW_DEVELOPERS: ReadonlySet<ProviderType> = new Set(['openai', 'azure', 'openrouter'])

/**
 * At the start a system message. Later ones keep their place: a developer's, or, as many servers accept instructions at the start
 * alone, a text of the user's.
 */
function toInstruction(
  parts: readonly Part[],
  isFirst: boolean,
  type: ProviderType,
): readonly JsonObject[] {
  if (isFirst) return toMessage('system', parts, type)
  if (KNOW_DEVELOPERS.has(type)) return toMessage('developer', parts, type)
  return toMessage('user', toReminder(parts), type)
}

/** A result is text alone: what else came with them comes after all of them. */
function toUserMessages(
  results: readonly Answered[],
  others: readonly Part[],
  type: ProviderType,
): readonly JsonObject[] {
  const media = results.flatMap(({ result }) => result.parts.filter((part) => part.type !== 'text'))
  return [
    ...results.map(({ result }) => toResult(result, type)),
    ...toMessage('user', [...media, ...others], type),
  ]
}

function toResult(result: ResultPart, type: ProviderType): JsonObject {
  const { callId, callIdPath, parts, isError } = result
  if (callId === undefined) throw rejected(callIdPath, 'must name the call it answers')
  const texts = parts.filter((part) => part.type === 'text')
  const text = [...(isError ? ['Error:'] : []), ...texts.map((part) => part.text)].join('\n')
  const mark = toCacheMark(texts.findLast(({ cacheMark }) => cacheMark) ?? result, type)
  const content = 'cache_control' in mark ? [{ type: 'text', text, ...mark }] : text
  return { role: 'tool', tool_call_id: toPlainId(callId), content }
}

function toAnswer(
  parts: readonly Part[],
  type: ProviderType,
  names: ToolNames,
): readonly JsonObject[] {
  const tool_calls = parts.flatMap((part) => (part.type === 'call' ? [toCall(part, names)] : []))
  const others = parts.filter(
    (part) => !(part.type === 'call' || (part.type === 'image' && part.isDrawn)),
  )
  const [message] = toMessage('assistant', others, type)
  if (tool_calls.length === 0) return message ? [message] : []
  return [{ role: 'assistant', content: null, ...message, tool_calls }]
}

function toCall(call: CallPart, names: ToolNames): JsonObject {
  const { id, name, path, kind } = call
  if (id === undefined || name === undefined) throw rejected(path, 'must have an id and a name')
  const sent = names.toWire(name, call.namespace)
  return kind === 'custom'
    ? { id: toPlainId(id), type: kind, custom: { name: sent, input: call.arguments } }
    : {
        id: toPlainId(id),
        type: kind,
        function: { name: sent, arguments: call.arguments.trim() === '' ? '{}' : call.arguments },
      }
}

/** Providers that take the texts of a message as a list, so that their boundaries are kept. */
const TAKE_LISTS = KNOW_DEVELOPERS

/** None where nothing is said. Texts alone are sent as one: not every server takes a list. */
function toMessage(
  role: string,
  parts: readonly Part[],
  type: ProviderType,
): readonly JsonObject[] {
  const content = parts.flatMap((part) => toContent(part, type))
  const [first] = content
  if (first === undefined) return []
  const isPlain =
    content.every((part) => part['type'] === 'text' && !part['cache_control']) &&
    (content.length === 1 || !TAKE_LISTS.has(type))
  return [{ role, content: isPlain ? content.map(({ text }) => text).join('\n\n') : content }]
}

function toContent(part: Part, type: ProviderType): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...toCacheMark(part, type) }]
    case 'image': {
      const { detail } = part
      const image_url = { url: toUrl(part), ...(detail !== undefined && { detail }) }
      return [{ type: 'image_url', image_url, ...toCacheMark(part, type) }]
    }
    case 'document':
      return [{ type: 'file', file: toFile(part) }]
    case 'audio':
      return [{ type: 'input_audio', input_audio: toAudio(part) }]
    // Only the model that thought them understands them.
    case 'thinking':
    case 'redacted':
    case 'reasoning':
      return []
    default:
      throw rejectPart(part)
  }
}

/** OpenRouter passes marks on; others refuse them, or need none. */
const toCacheMark = (
  { cacheMark }: TextPart | MediaPart | ResultPart,
  type: ProviderType,
): JsonObject =>
  cacheMark && type === 'openrouter' ? { cache_control: { type: 'ephemeral' } } : {}
