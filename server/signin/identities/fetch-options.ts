/** Options for oauth4webapi, so that its requests use the gateway's own outbound client. */
import { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { Reach } from '../deps.ts'
import { isLoopbackHttp } from '../register/identity-provider.ts'
import { Unreachable } from './identity-client.ts'

/** The signature of oauth4webapi's custom fetch. */
interface Init {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface FetchOptions {
  readonly [customFetch]: (address: string, init: Init) => Promise<Response>
  readonly [allowInsecureRequests]: boolean
}

/** `isDevelopment`: our own issuer is http on loopback, so third parties may be too. */
export const fetchOptionsOf = (
  reach: Reach,
  issuer: string,
  isDevelopment: boolean,
): FetchOptions => ({
  async [customFetch](address, { method, headers, body }) {
    const request = { method, headers, ...(body != null && { body: String(body) }) }
    try {
      return await reach(address, request, issuer)
    } catch (cause) {
      throw new Unreachable(`${new URL(address).host} was not reached: ${reasonOf(cause)}`)
    }
  },
  [allowInsecureRequests]: isDevelopment,
})

const reasonOf = (cause: unknown): string =>
  cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : 'unknown'

/** A URL from a third party's metadata. @throws if it is missing, or not https */
export function requireEndpoint(
  name: string,
  address: string | undefined,
  isDevelopment: boolean,
): URL {
  const url = URL.parse(address ?? '')
  if (url !== null && (url.protocol === 'https:' || (isDevelopment && isLoopbackHttp(url)))) {
    return url
  }
  throw new Error(`its metadata names no ${name} with https`)
}
