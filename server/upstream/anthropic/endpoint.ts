/** The URL and credential header of an Anthropic-compatible provider, from the operator's settings alone. */
import type { Provider } from '#domain/provider.ts'
import { readBaseAddress } from '../base-address.ts'

export interface Endpoint {
  /** Of the messages; what counts their tokens is below it. */
  readonly url: string
  readonly host: string
  /** The credential and the API version. */
  readonly auth: Readonly<Record<string, string>>
}

const PATH = '/messages'
const VERSION = '2023-06-01'

/**
 * Appends the operation's path to the base URL.
 * @throws UpstreamFailure `failed` when the base URL is no http address
 */
export function toEndpoint(provider: Provider, credential: string | null): Endpoint {
  const url = readBaseAddress(provider)
  const base = url.pathname.replace(/\/$/, '')
  url.pathname = base.endsWith(PATH) ? base : base + PATH
  const version = { 'anthropic-version': VERSION }
  const auth = credential === null ? version : { ...version, 'x-api-key': credential }
  return { url: url.href, host: url.host, auth }
}
