/** Ours → theirs: the client's body with the provider's name for the model; usage is always requested. */
import type { ChatRequest, JsonObject } from '#domain/chat.ts'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { readObject } from '../read-json.ts'
import { toMessages } from './to-messages.ts'

/** The body to send. Unknown fields are passed through (contract §7). */
export function toRequest(
  { body, stream }: ChatRequest,
  upstreamName: string,
  type: ProviderType,
): JsonObject {
  const sent: Record<string, unknown> = { ...body }
  sent['messages'] = toMessages(body['messages'], type)
  sent['model'] = upstreamName
  if (stream) sent['stream'] = true
  const options = stream ? toStreamOptions(body['stream_options'], type) : null
  if (options !== null) sent['stream_options'] = options
  else if ('stream_options' in sent) delete sent['stream_options']
  if (PROVIDER_PRESETS[type].isOldDialect && 'max_completion_tokens' in sent) {
    sent['max_tokens'] = sent['max_completion_tokens']
    delete sent['max_completion_tokens']
  }
  return sent
}

/** Requests usage even if the client did not: the gateway charges by it (contract §7). */
function toStreamOptions(options: unknown, type: ProviderType): JsonObject | null {
  const { include_usage: _, ...others } = readObject(options)
  if (PROVIDER_PRESETS[type].asksForUsage) return { ...others, include_usage: true }
  return Object.keys(others).length > 0 ? others : null
}
