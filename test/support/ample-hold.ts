/** What a request holds where money is ample. */
import type { ChatRequest } from '#domain/chat.ts'
import type { ModelCard, PriceVersion } from '#domain/model-card.ts'
import { holdFor } from '#domain/offer-cost.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { toOfferCost } from '#domain/walk/offer.ts'
import { aProvider } from '#test/support/nouns.ts'

export const ampleHold = (request: ChatRequest, card: ModelCard, version: PriceVersion) => {
  const hop = { card, provider: aProvider() }
  const offer = { hop, version, rate: { rubPerUsd: 0n } } as never
  return holdFor([toOfferCost(request, offer, null, DEFAULT_SETTINGS)], null)
}
