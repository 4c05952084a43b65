/** The URLs and credential header of an OpenAI-compatible provider, from the operator's settings alone. */
import { PROVIDER_PRESETS, type Provider } from '#domain/provider.ts'
import { readBaseAddress } from '../base-address.ts'

export interface Endpoint {
  readonly url: string
  readonly host: string
  readonly auth: Readonly<Record<string, string>>
}

/** A base URL may already end with one of them. */
const CONVERSATIONS = ['/chat/completions', '/responses'] as const

export type Operation =
  | (typeof CONVERSATIONS)[number]
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
  operation: Operation = '/chat/completions',
): Endpoint {
  const url = readBaseAddress(provider)
  const base = url.pathname.replace(/\/$/, '')
  const stated = CONVERSATIONS.find((path) => base.endsWith(path)) ?? ''
  url.pathname = base.slice(0, base.length - stated.length) + operation
  return { url: url.href, host: url.host, auth: toAuth(provider, credential) }
}

function toAuth({ type }: Provider, credential: string | null): Readonly<Record<string, string>> {
  if (credential === null) return {}
  return PROVIDER_PRESETS[type].auth === 'api-key'
    ? { 'api-key': credential }
    : { authorization: `Bearer ${credential}` }
}
