/** Ours → theirs: the client's body with the provider's name for the model, and its text; usage is always requested. */

import { createHash } from 'node:crypto'
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readObject } from '#domain/json.ts'
import {
  BOUND_WORDS,
  type OutputBound,
  outputBoundOf,
  PROVIDER_PRESETS,
  type ProviderType,
} from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { type BodySource, wholeBody } from '#domain/work.ts'
import type { Pieces } from '../reply.ts'
import { spliceJson } from '../splice-json.ts'

/** What a call's body is made of. */
export type Asked = Pick<UpstreamCall, 'request' | 'hop' | 'maxOutputTokens'>

/** The body to send. Unknown fields are passed through (contract §7). */
export function toRequest(
  { request, hop, maxOutputTokens }: Asked,
  spelling: OutputBound | null = outputBoundOf(hop.provider),
): JsonObject {
  const { body, stream } = request
  const { type } = hop.provider
  const sent: Record<string, unknown> = { ...body }
  const said = body['messages']
  if (toMessages(said, type) !== said) {
    sent['messages'] = toMessages(wholeBody(request)['messages'], type)
  }
  sent['model'] = hop.card.upstreamName
  if (stream) sent['stream'] = true
  const options = stream ? toStreamOptions(body['stream_options'], type) : null
  if (options !== null) sent['stream_options'] = options
  else if ('stream_options' in sent) delete sent['stream_options']
  stateBound(sent, spelling, maxOutputTokens)
  return sent
}

/** The gateway's bound replaces the client's, in both spellings. */
function stateBound(
  sent: Record<string, unknown>,
  spelling: OutputBound | null,
  bound: number | null,
): void {
  for (const word of BOUND_WORDS) {
    if (bound !== null && (spelling === word || spelling === 'both')) sent[word] = bound
    else if (word in sent) delete sent[word]
  }
  if ('n_predict' in sent && bound !== null && !isWithin(sent['n_predict'], bound)) {
    delete sent['n_predict']
  }
}

/** llama.cpp obeys `n_predict` before `max_tokens`; a negative one is no bound. */
const isWithin = (stated: unknown, bound: number): boolean =>
  typeof stated === 'number' && stated >= 0 && stated <= bound

/** Requests usage even if the client did not: the gateway charges by it (contract §7). */
function toStreamOptions(options: unknown, type: ProviderType): JsonObject | null {
  const { include_usage: _, ...others } = readObject(options)
  if (PROVIDER_PRESETS[type].asksForUsage) return { ...others, include_usage: true }
  return Object.keys(others).length > 0 ? others : null
}

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

/**
 * The JSON of `sent`: unchanged members of a long one are slices of the client's own text. `source` is the client's body, when it is
 * kept; one in which a name is repeated is written anew, because other parsers may take the other value.
 */
export function toText(sent: JsonObject, source: BodySource | undefined): string | Pieces {
  if (source?.isHeld !== true) return JSON.stringify(sent)
  if (source.repeatsNames) return JSON.stringify(wholeBody({ body: sent, source }))
  const { exact } = source
  const set: Record<string, unknown> = {}
  for (const name in sent) {
    const isChanged = !Object.hasOwn(exact, name) || sent[name] !== exact[name]
    if (isChanged && sent[name] !== undefined) set[name] = sent[name]
  }
  return spliceJson(
    source,
    set,
    Object.keys(exact).filter((name) => isCut(sent, name)),
  )
}

const isCut = (sent: JsonObject, name: string): boolean =>
  !Object.hasOwn(sent, name) || sent[name] === undefined

const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/
const MAX_OPENAI_CHARS = 40

/** Deterministic, so that a call and its result keep the same id in every turn; an acceptable id is unchanged. */
function toCallId(id: string, type: ProviderType): string {
  switch (type) {
    case 'mistral':
      return MISTRAL_ID.test(id) ? id : digestOf(id).slice(0, 9)
    case 'openai':
    case 'azure':
      return id.length <= MAX_OPENAI_CHARS ? id : `call_${digestOf(id).slice(0, 32)}`
    default:
      return id
  }
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('hex')
