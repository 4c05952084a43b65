/** Posts to an address that people have set, once it is checked. Of the answer only the head is used. */
import { fetchUntrusted } from '#outbound/fetch-untrusted.ts'
import type { DestinationPolicy } from '#outbound/policy.ts'
import { classOf, type FailureClass } from './outcome.ts'

/** The class of a failure where there was no answer. `signal` aborts a try that takes too long. */
export async function postUntrusted(
  url: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  policy: DestinationPolicy,
  signal: AbortSignal,
): Promise<Response | FailureClass> {
  const request = { method: 'POST', headers: { 'user-agent': 'gatewayctl', ...headers }, body }
  try {
    const response = await fetchUntrusted(url, request, policy, signal)
    if (response === null) return 'forbidden_address'
    // The body is ignored, and could be endless.
    response.body?.cancel().catch(() => {})
    return response
  } catch (thrown) {
    return classOf(thrown)
  }
}
