/** Ours → theirs: the messages, with roles and ids that the vendor accepts and without fields added to earlier answers. */
import type { JsonObject } from '#domain/chat.ts'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { isObject } from '../read-json.ts'
import { toCallId } from './to-call-id.ts'

/** Vendors that answer an unknown message field with a 400. */
const STRICT: ReadonlySet<ProviderType> = new Set(['openai', 'azure', 'groq', 'mistral'])

/** Fields of earlier answers, possibly of other models, that clients send back: reasoning, signatures, images. */
const ADDED = new Set([
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'images',
  'revised_prompt',
])
const ADDED_TO_CALLS = new Set(['extra_content', 'reasoning_details'])

/** Returns the same array when nothing changes. */
export function toMessages(messages: unknown, type: ProviderType): unknown {
  const refusesUnknown = STRICT.has(type) || PROVIDER_PRESETS[type].isOldDialect
  if (!refusesUnknown || !Array.isArray(messages)) return messages
  const sent = messages.map((message) => toMessage(message, type))
  return sent.every((message, index) => message === messages[index]) ? messages : sent
}

/** Returns the same message when nothing changes. */
function toMessage(message: unknown, type: ProviderType): unknown {
  if (!isObject(message)) return message
  switch (message['role']) {
    case 'developer':
      return PROVIDER_PRESETS[type].isOldDialect ? { ...message, role: 'system' } : message
    case 'assistant':
      return toAnswer(message, type)
    case 'tool': {
      const id = message['tool_call_id']
      const sent = typeof id === 'string' ? toCallId(id, type) : id
      return sent === id ? message : { ...message, tool_call_id: sent }
    }
    default:
      return message
  }
}

function toAnswer(message: JsonObject, type: ProviderType): JsonObject {
  const kept = STRICT.has(type) ? without(message, ADDED) : message
  const calls = kept['tool_calls']
  if (!Array.isArray(calls)) return kept
  const sent = calls.map((call) => (isObject(call) ? toCall(call, type) : call))
  return sent.every((call, index) => call === calls[index]) ? kept : { ...kept, tool_calls: sent }
}

function toCall(call: JsonObject, type: ProviderType): JsonObject {
  const kept = STRICT.has(type) ? without(call, ADDED_TO_CALLS) : call
  const id = kept['id']
  const sent = typeof id === 'string' ? toCallId(id, type) : id
  return sent === id ? kept : { ...kept, id: sent }
}

/** Returns the same object when it has none of these members. */
function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  for (const name in object) {
    if (names.has(name)) {
      return Object.fromEntries(Object.entries(object).filter(([one]) => !names.has(one)))
    }
  }
  return object
}
