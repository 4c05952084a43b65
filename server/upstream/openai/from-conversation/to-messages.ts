/** Ours → theirs: turns as the messages of a chat. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, MediaPart, Part, ResultPart, TextPart, Turn } from '#domain/conversation.ts'
import type { ProviderType } from '#domain/provider.ts'
import { rejected } from '../../rejected.ts'
import { toReminder } from '../../system-reminder.ts'
import type { ToolNames } from './tool-names.ts'

/** @throws UpstreamFailure `rejected` for a part that chat has no word for */
export function toMessages(
  turns: readonly Turn[],
  type: ProviderType,
  names: ToolNames,
): readonly JsonObject[] {
  const messages: JsonObject[] = []
  /** The ids of the last calls, in their order, and what users said since. */
  let called: readonly (string | undefined)[] = []
  let said: Part[] = []
  const flush = (): void => {
    messages.push(...toUserMessages(said, called, type))
    said = []
  }
  for (const { role, parts } of turns) {
    if (role === 'user') {
      said.push(...parts)
      continue
    }
    flush()
    if (role === 'system') {
      const isFirst = messages.every((message) => message['role'] === 'system')
      messages.push(...toInstruction(parts, isFirst, type))
    } else {
      const calls = parts.filter((part) => part.type === 'call')
      called = calls.map(({ id }) => id)
      messages.push(...toAnswer(parts, calls, type, names))
    }
  }
  flush()
  return messages
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

/** Results follow their calls at once, in the order of the calls; what else came with them comes after all of them. */
function toUserMessages(
  said: readonly Part[],
  called: readonly (string | undefined)[],
  type: ProviderType,
): readonly JsonObject[] {
  const place = ({ callId }: ResultPart): number => {
    const index = called.indexOf(callId)
    return index < 0 ? called.length : index
  }
  const results = said.filter((part) => part.type === 'result')
  const sorted = results.toSorted((one, other) => place(one) - place(other))
  const media = sorted.flatMap(({ parts }) => parts.filter(({ type }) => type !== 'text'))
  const others = said.filter((part) => part.type !== 'result')
  return [...sorted.map(toResult), ...toMessage('user', [...media, ...others], type)]
}

function toResult({ callId, callIdPath, parts, isError }: ResultPart): JsonObject {
  if (callId === undefined) throw rejected(callIdPath, 'must name the call it answers')
  const texts = parts.filter((part) => part.type === 'text').map(({ text }) => text)
  const content = [...(isError ? ['Error:'] : []), ...texts].join('\n')
  return { role: 'tool', tool_call_id: toId(callId), content }
}

function toAnswer(
  parts: readonly Part[],
  calls: readonly CallPart[],
  type: ProviderType,
  names: ToolNames,
): readonly JsonObject[] {
  const tool_calls = calls.map((call) => toCall(call, names))
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
    ? { id: toId(id), type: kind, custom: { name: sent, input: call.arguments } }
    : {
        id: toId(id),
        type: kind,
        function: { name: sent, arguments: call.arguments.trim() === '' ? '{}' : call.arguments },
      }
}

const PLAIN_ID = /^[\w-]{1,64}$/

/** Deterministic, so that a call and its result keep the same id in every turn. */
const toId = (id: string): string =>
  PLAIN_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`

/** None where nothing is said. A text alone is sent as such: not every server takes a list. */
function toMessage(
  role: string,
  parts: readonly Part[],
  type: ProviderType,
): readonly JsonObject[] {
  const content = parts.flatMap((part) => toContent(part, type))
  const [first] = content
  if (first === undefined) return []
  const isPlain = content.length === 1 && first['type'] === 'text' && !first['cache_control']
  return [{ role, content: isPlain ? first['text'] : content }]
}

function toContent(part: Part, type: ProviderType): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...toCacheMark(part, type) }]
    case 'image':
      return [{ type: 'image_url', image_url: { url: toUrl(part) }, ...toCacheMark(part, type) }]
    case 'document':
      return [toFile(part)]
    case 'audio':
      return [toAudio(part)]
    // Only the model that thought them understands them.
    case 'thinking':
    case 'redacted':
    case 'reasoning':
      return []
    case 'unknown':
      throw rejected(part.path, `a part of type ${JSON.stringify(part.word)} cannot be sent`)
    default:
      throw rejected(part.path, `a part of type ${JSON.stringify(part.type)} cannot be sent`)
  }
}

/** OpenRouter passes marks on; others refuse them, or need none. */
const toCacheMark = ({ cacheMark }: TextPart | MediaPart, type: ProviderType): JsonObject =>
  cacheMark && type === 'openrouter' ? { cache_control: { type: 'ephemeral' } } : {}

function toUrl({ source, path }: MediaPart): string {
  if (source.type === 'url') return source.url
  if (source.type === 'reference') throw rejected(path, 'must be an address or data')
  return `data:${source.mediaType};base64,${source.data}`
}

function toFile(part: MediaPart): JsonObject {
  const { source, path, title = 'document.pdf' } = part
  if (source.type !== 'base64') throw rejected(path, 'must be in the request, as data')
  return { type: 'file', file: { filename: title, file_data: toUrl(part) } }
}

function toAudio({ source, path }: MediaPart): JsonObject {
  if (source.type !== 'base64') throw rejected(path, 'must be in the request, as data')
  const format = source.mediaType.slice('audio/'.length).replace('mpeg', 'mp3').replace('x-', '')
  return { type: 'input_audio', input_audio: { data: source.data, format } }
}
