/** What a request holds where money is ample. */

import type { ModelCard, PriceVersion } from '#domain/model-card.ts'
import { holdFor } from '#domain/offer-cost.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { toOfferCost } from '#domain/walk/offer.ts'
import type { Work } from '#domain/work.ts'
import { aProvider } from '#test/support/nouns.ts'

export const ampleHold = (request: Work, card: ModelCard, version: PriceVersion) => {
  const hop = { card, provider: aProvider() }
  const offer = { hop, version, rate: { rubPerUsd: 0n } } as never
  return holdFor([toOfferCost(request, offer, null, DEFAULT_SETTINGS)], null)
}
