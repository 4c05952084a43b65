/** Ours → theirs: turns as the input of the Responses API, where texts, thoughts, calls and their results are items. */
import type { JsonObject } from '#domain/chat.ts'
import type { CallPart, Part, Turn } from '#domain/conversation.ts'
import type { Thought } from '#domain/thought.ts'
import { type Answered, inOrder, type Said } from '../../in-order.ts'
import { rejected, rejectPart } from '../../rejected.ts'
import type { ToolNames } from '../../tool-names.ts'
import { toAudio, toFile, toUrl } from '../from-conversation/media.ts'
import { toPlainId } from '../from-conversation/plain-id.ts'

/** `provider` is the name of the one that is asked. @throws UpstreamFailure `rejected` for a part that it has no word for */
export function toItems(
  turns: readonly Turn[],
  provider: string,
  names: ToolNames,
): readonly JsonObject[] {
  return inOrder(turns).flatMap((said) => toSaid(said, provider, names))
}

function toSaid(said: Said, provider: string, names: ToolNames): readonly JsonObject[] {
  switch (said.role) {
    case 'system':
      return toMessage(said.isFirst ? 'system' : 'developer', said.parts)
    case 'assistant':
      return toAnswer(said.parts, provider, names)
    case 'user':
      return [...said.results.map(toOutput), ...toMessage('user', said.parts)]
  }
}

/** None where nothing is said. */
function toMessage(role: string, parts: readonly Part[]): readonly JsonObject[] {
  const content = parts.flatMap(toContent)
  return content.length > 0 ? [{ role, content }] : []
}

function toContent(part: Part): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'input_text', text: part.text }]
    case 'image':
      return [{ type: 'input_image', detail: part.detail ?? 'auto', image_url: toUrl(part) }]
    case 'document':
      return [
        part.source.type === 'url'
          ? { type: 'input_file', file_url: part.source.url }
          : { type: 'input_file', ...toFile(part) },
      ]
    case 'audio':
      return [{ type: 'input_audio', input_audio: toAudio(part) }]
    case 'thinking':
    case 'redacted':
    case 'reasoning':
      return []
    default:
      throw rejectPart(part)
  }
}

/** A text alone is sent as such: not every server takes a list. */
function toOutput({ result, call }: Answered): JsonObject {
  const { callId, callIdPath, parts, isError } = result
  if (callId === undefined) throw rejected(callIdPath, 'must name the call it answers')
  const content = parts.flatMap(toContent)
  const isPlain = content.every(({ type }) => type === 'input_text')
  const failed = isError ? ['Error:'] : []
  return {
    type: call?.kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output',
    call_id: toPlainId(callId),
    output: isPlain
      ? [...failed, ...content.map(({ text }) => text)].join('\n')
      : [...failed.map((text) => ({ type: 'input_text', text })), ...content],
  }
}

/** A thought that nothing follows was cut off, and is refused when it comes back. */
function toAnswer(
  parts: readonly Part[],
  provider: string,
  names: ToolNames,
): readonly JsonObject[] {
  const items = parts.flatMap((part) => toItem(part, provider, names))
  const last = items.findLastIndex(({ type }) => type !== 'reasoning')
  return items.slice(0, last + 1)
}

function toItem(part: Part, provider: string, names: ToolNames): readonly JsonObject[] {
  switch (part.type) {
    case 'text': {
      const content = [{ type: 'output_text', text: part.text }]
      return part.text === '' ? [] : [{ role: 'assistant', content }]
    }
    case 'call':
      return [toCall(part, names)]
    case 'reasoning':
      return toReasoning(part, provider)
    case 'image':
      if (part.isDrawn) return []
      break
    default:
  }
  return toMessage('assistant', [part])
}

function toCall(call: CallPart, names: ToolNames): JsonObject {
  const { id, name, path, kind, arguments: text } = call
  if (id === undefined || name === undefined) throw rejected(path, 'must have an id and a name')
  const called = { call_id: toPlainId(id), name: names.toWire(name, call.namespace) }
  return kind === 'custom'
    ? { type: 'custom_tool_call', ...called, input: text }
    : { type: 'function_call', ...called, arguments: text.trim() === '' ? '{}' : text }
}

/** Nobody but who encrypted it can read it. */
function toReasoning(
  { id, summary, encrypted, origin }: Extract<Thought, { type: 'reasoning' }>,
  provider: string,
): readonly JsonObject[] {
  const isOwn = origin.family === 'openai' && (origin.provider ?? provider) === provider
  if (!isOwn || encrypted === '') return []
  return [
    {
      type: 'reasoning',
      ...(id !== '' && { id }),
      summary: summary.map((text) => ({ type: 'summary_text', text })),
      encrypted_content: encrypted,
    },
  ]
}
