/** Counts the tokens of a prompt: by the provider where it counts, else by estimate. It costs nothing, and is no attempt at an answer. */
import { Canceller, type CancelSignal } from '../cancel.ts'
import type { Catalogue } from '../catalogue.ts'
import type { Clock } from '../clock.ts'
import type { Hop } from '../hop.ts'
import type { ApiKey } from '../key.ts'
import { estimatePrompt } from '../offer-cost.ts'
import type { Provider } from '../provider.ts'
import type { Settings } from '../settings.ts'
import { toClientError, type Upstream, UpstreamFailure } from '../upstream.ts'
import type { Work } from '../work.ts'
import { findCard, offersOf } from './offer.ts'

interface CountDeps {
  readonly clock: Clock
  readonly settings: Settings
  readonly store: { readonly catalogue: { current(): Catalogue } }
  upstreamFor(provider: Provider, credential: string | null): Upstream
}

interface Counted {
  readonly key: ApiKey
  readonly request: Work
  readonly requestId: string
  readonly signal: CancelSignal
}

/**
 * The provider's own answer, or the tokens by estimate.
 * @throws what the catalogue has against the model, and the provider against the request
 */
export async function countPrompt(deps: CountDeps, asked: Counted): Promise<string | number> {
  const { key, request } = asked
  const catalogue = deps.store.catalogue.current()
  const card = findCard(catalogue, key, request.dialect, request.model)
  for (const { hop } of offersOf({ catalogue, at: deps.clock.now() }, card)) {
    const counted = await askProvider(deps, asked, hop)
    if (counted !== null) return counted
  }
  const { words, images } = estimatePrompt(request, card)
  return words + images
}

/** Null where it does not count, or could not: an estimate is better than an error. @throws its refusal of the request */
async function askProvider(
  deps: CountDeps,
  { request, requestId, signal }: Counted,
  hop: Hop,
): Promise<string | null> {
  const upstream = deps.upstreamFor(hop.provider, hop.credential)
  if (upstream.count === undefined) return null
  try {
    return await upstream.count({
      request,
      hop,
      requestId,
      maxOutputTokens: null,
      timeouts: deps.settings,
      sending: { isSent: false },
      signal: new Canceller(signal),
    })
  } catch (thrown) {
    if (!(thrown instanceof UpstreamFailure)) throw thrown
    // Servers that only speak like this provider may have no such path.
    if (thrown.kind !== 'rejected' || thrown.details.status === 404) return null
    throw toClientError(thrown, hop.provider.name, true)
  }
}
