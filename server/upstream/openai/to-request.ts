/** Ours → theirs: the client's body, renamed to what the provider calls the model, with usage always asked for. */
import type { ChatRequest, JsonObject } from '#domain/chat.ts'
import { PROVIDER_PRESETS, type ProviderType } from '#domain/provider.ts'
import { readObject } from '../read-json.ts'
import { toMessages } from './to-messages.ts'

/** The body to send. Fields that the gateway does not know travel with it (contract §7). */
export function toRequest(
  { body, stream }: ChatRequest,
  upstreamName: string,
  type: ProviderType,
): JsonObject {
  const { stream_options: options, ...rest } = body
  return {
    ...rest,
    messages: toMessages(body['messages'], type),
    model: upstreamName,
    ...(stream && { stream: true, ...toStreamOptions(options, type) }),
    ...(type === 'openrouter' && { usage: { ...readObject(body['usage']), include: true } }),
  }
}

/** Whatever the client asked, the gateway has to know what the answer cost (contract §7). */
function toStreamOptions(options: unknown, type: ProviderType): JsonObject {
  const { include_usage: _, ...others } = readObject(options)
  if (PROVIDER_PRESETS[type].asksForUsage) {
    return { stream_options: { ...others, include_usage: true } }
  }
  return Object.keys(others).length > 0 ? { stream_options: others } : {}
}
