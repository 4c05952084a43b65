/** Ours → theirs: the conversation, without what a gateway has added to earlier answers where a vendor refuses it. */
import type { JsonObject } from '#domain/chat.ts'
import type { ProviderType } from '#domain/provider.ts'
import { isObject } from '../read-json.ts'

/** Vendors that answer a field of a message they do not know with a 400. */
const STRICT: ReadonlySet<ProviderType> = new Set(['openai', 'azure', 'groq', 'mistral'])

/** A client sends an earlier answer back as it got it: thoughts, signatures and pictures of whatever model it came from. */
const ADDED = new Set(['reasoning', 'reasoning_content', 'reasoning_details', 'images'])
const ADDED_TO_CALLS = new Set(['extra_content'])

/** The messages for this vendor; the very same array where nothing has to go. */
export function toMessages(messages: unknown, type: ProviderType): unknown {
  if (!STRICT.has(type) || !Array.isArray(messages) || !messages.some(hasAdded)) return messages
  return messages.map((message) => (hasAdded(message) ? toAnswer(message) : message))
}

/** Whether it is an answer that holds what was added. */
function hasAdded(message: unknown): message is JsonObject {
  if (!isObject(message) || message['role'] !== 'assistant') return false
  const { tool_calls: calls } = message
  return holdsAny(message, ADDED) || (Array.isArray(calls) && calls.some(isExtended))
}

const isExtended = (call: unknown): call is JsonObject =>
  isObject(call) && holdsAny(call, ADDED_TO_CALLS)

function holdsAny(object: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in object) if (names.has(name)) return true
  return false
}

function toAnswer(message: JsonObject): JsonObject {
  const { tool_calls: calls, ...rest } = without(message, ADDED)
  if (!Array.isArray(calls)) return calls === undefined ? rest : { ...rest, tool_calls: calls }
  const toCall = (call: unknown) => (isExtended(call) ? without(call, ADDED_TO_CALLS) : call)
  return { ...rest, tool_calls: calls.map(toCall) }
}

const without = (object: JsonObject, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.has(name)))
