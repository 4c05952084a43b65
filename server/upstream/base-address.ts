/** Reads the base URL that an operator configured for a provider: http or https. */
import type { Provider } from '#domain/provider.ts'
import { UpstreamFailure } from '#domain/upstream.ts'

/** A new URL without fragment and without trailing slash. @throws UpstreamFailure `failed` */
export function readBaseAddress({ baseUrl }: Provider): URL {
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UpstreamFailure('failed', 'its base URL is not an http address')
  }
  url.pathname = url.pathname.replace(/\/+$/, '')
  url.hash = ''
  return url
}
