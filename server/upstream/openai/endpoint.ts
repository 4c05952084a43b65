/** The URLs and credential header of an OpenAI-compatible provider, from the operator's settings alone. */
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import { readBaseAddress } from '../base-address.ts'

export interface Endpoint {
  readonly url: string
  readonly host: string
  readonly auth: Readonly<Record<string, string>>
}

const CHAT = '/chat/completions'

/** A base URL may already end with the path of chat completions. */
export type Operation =
  | typeof CHAT
  | '/embeddings'
  | '/rerank'
  | '/images/generations'
  | '/images/edits'

/**
 * Appends the operation's path to the base URL, before its query if it has one (`?api-version=…`).
 * @throws UpstreamFailure `failed` when the base URL is no http address
 */
export function toEndpoint(
  provider: Provider,
  credential: string | null,
  operation: Operation = CHAT,
): Endpoint {
  const url = readBaseAddress(provider)
  const base = url.pathname.replace(/\/$/, '')
  url.pathname = (base.endsWith(CHAT) ? base.slice(0, -CHAT.length) : base) + operation
  return { url: url.href, host: url.host, auth: toAuth(provider, credential) }
}

function toAuth({ type }: Provider, credential: string | null): Readonly<Record<string, string>> {
  if (credential === null) return {}
  return PROVIDER_PRESETS[type].auth === 'api-key'
    ? { 'api-key': credential }
    : { authorization: `Bearer ${credential}` }
}
