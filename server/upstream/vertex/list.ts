/** The models of Vertex AI, by publisher: Google's and Anthropic's. */
import type { Clock } from '#domain/clock.ts'
import type { Provider } from '#domain/provider.ts'
import { readBaseAddress } from '../base-address.ts'
import { toHeaders } from '../call.ts'
import type { List } from '../request-text.ts'
import { toReach } from './index.ts'

/** @throws UpstreamFailure */
export function vertexLists(
  provider: Provider,
  credential: string | null,
  clock: Clock,
): readonly [List, ...List[]] {
  const reach = toReach(credential, clock)
  const headers = toHeaders(reach.auth).whole
  const base = readBaseAddress(provider).href.replace(/\/v1(?:beta1)?(?:\/.*)?$/, '')
  const listOf = (publisher: string): List => {
    const url = new URL(`${base}/v1beta1/publishers/${publisher}/models?pageSize=1000`)
    return { url, headers, post: reach.open(url.href, 'GET') }
  }
  return [listOf('google'), listOf('anthropic')]
}
