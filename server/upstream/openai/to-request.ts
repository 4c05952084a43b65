/** Ours → theirs: the client's body with the provider's name for the model; usage is always requested. */
import type { JsonObject } from '#domain/chat.ts'
import {
  BOUND_WORDS,
  type OutputBound,
  outputBoundOf,
  PROVIDER_PRESETS,
  type ProviderType,
} from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { readObject } from '../read-json.ts'
import { toMessages } from './to-messages.ts'

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
  sent['messages'] = toMessages(body['messages'], type)
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
