/** What a request holds where money is ample. */

import type { ModelCard, PriceVersion } from '#domain/model-card.ts'
import { holdFor, offerCost } from '#domain/offer-cost.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import type { Work } from '#domain/work.ts'
import { aProvider } from '#test/support/nouns.ts'

export const ampleHold = (request: Work, card: ModelCard, version: PriceVersion) => {
  const hop = { card, provider: aProvider(), credential: null }
  return holdFor([offerCost(request, hop, version.prices, null, DEFAULT_SETTINGS)], null)
}
