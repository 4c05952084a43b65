/** What a request claims before it is sent upstream: a slot of every window, one of concurrency, and its highest possible cost. */
import type { Claim } from './admission.ts'
import type { Caller } from './caller.ts'
import type { ChatRequest } from './chat.ts'
import type { Clock } from './clock.ts'
import type { GenerationId } from './id.ts'
import type { Offer, Offers } from './offer.ts'
import { type OfferCost, toOfferCost } from './offer-cost.ts'
import { checkThinking } from './output-bound.ts'
import type { Settings } from './settings.ts'

interface Claimant {
  readonly caller: Caller
  readonly request: ChatRequest
  readonly generationId: GenerationId
}

interface ClaimDeps {
  readonly clock: Clock
  readonly settings: Settings
}

/** An offer and what the request costs at most there. */
export interface CostedOffer {
  readonly offer: Offer
  readonly cost: OfferCost
}

/** In the order they are tried; never empty. */
export type CostedOffers = readonly [CostedOffer, ...CostedOffer[]]

/** @throws invalid_request for a thinking budget that the key's limit has no room for */
export function costOffers(
  { settings }: Pick<ClaimDeps, 'settings'>,
  { caller: { key }, request }: Pick<Claimant, 'caller' | 'request'>,
  offers: Offers,
): CostedOffers {
  checkThinking(request, offers[0].hop, key)
  return offers.map((offer) => ({
    offer,
    cost: toOfferCost(request, offer, key.limits.maxOutputTokens, settings),
  })) as unknown as CostedOffers
}

/** Claims what every offer may cost, so that one verdict covers them all. */
export const toClaim = (
  { clock }: Pick<ClaimDeps, 'clock'>,
  { caller: { key, requestId }, request, generationId }: Claimant,
  offers: CostedOffers,
): Claim => ({
  generationId,
  requestId,
  keyId: key.id,
  accountId: key.accountId,
  at: clock.now(),
  model: offers[0].offer.hop.card.id,
  endUser: request.endUser,
  offers: offers.map(({ cost }) => cost),
})
