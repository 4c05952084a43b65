/** The models of Amazon Bedrock: those of the region, and the profiles by which they are served in several. */
import type { Clock } from '#domain/clock.ts'
import type { Provider } from '#domain/provider.ts'
import { toHeaders } from '../call.ts'
import type { List } from '../request-text.ts'
import { isMantle, toReach } from './reach.ts'

/** Bedrock's own operations are listed at another host, and their profiles apart. @throws UpstreamFailure */
export function bedrockLists(
  provider: Provider,
  credential: string | null,
  clock: Clock,
): readonly [List, ...List[]] {
  const reach = toReach(provider, credential, clock)
  const headers = toHeaders(reach.auth).whole
  const listAt = (href: string): List => ({
    url: new URL(href),
    headers,
    post: reach.open(href, 'GET'),
  })
  if (isMantle(reach)) return [listAt(`${reach.base}/v1/models`)]
  const control = reach.base.replace('//bedrock-runtime', '//bedrock')
  return [
    listAt(`${control}/foundation-models`),
    listAt(`${control}/inference-profiles?maxResults=1000&typeEquals=SYSTEM_DEFINED`),
  ]
}
