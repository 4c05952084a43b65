/** The URLs and credential header of Cohere, from the operator's settings alone. */
import type { Provider } from '#domain/provider.ts'
import { readBaseAddress } from '../base-address.ts'

export interface Endpoint {
  readonly host: string
  readonly auth: Readonly<Record<string, string>>
  /** The URL of an operation of a version of the API, whichever version the base URL names. */
  address(operation: '/v2/embed' | '/v2/rerank' | '/v1/models'): string
}

/** @throws UpstreamFailure `failed` when the base URL is no http address */
export function toEndpoint(provider: Provider, credential: string | null): Endpoint {
  const base = readBaseAddress(provider)
  const root = base.pathname.replace(/\/(?:v\d+)?$/, '')
  return {
    host: base.host,
    auth: credential === null ? {} : { authorization: `Bearer ${credential}` },
    address(operation) {
      const url = new URL(base)
      url.pathname = root + operation
      return url.href
    },
  }
}
