/** The address that an operator gave a provider: http or https, whatever else it says. */
import type { Provider } from '#domain/provider.ts'
import { UpstreamFailure } from '#domain/upstream.ts'

/** A fresh URL without fragment and without a slash at the end of its path. @throws UpstreamFailure `failed` */
export function readBaseAddress({ baseUrl }: Provider): URL {
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UpstreamFailure('failed', 'its base URL is not an http address')
  }
  url.pathname = url.pathname.replace(/\/+$/, '')
  url.hash = ''
  return url
}
