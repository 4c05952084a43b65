/** What a request claims before it is sent upstream: a slot of every window, one of concurrency, and its highest possible cost. */
import type { Claim } from '../admission.ts'
import type { ChatRequest } from '../chat.ts'
import type { Clock } from '../clock.ts'
import type { GenerationId } from '../id.ts'
import type { Repeat } from '../idempotency.ts'
import type { Caller } from '../key.ts'
import { checkThinking, floorBound, fullBound } from '../output-bound.ts'
import { mostOfBase, mostPerMillionOutput, type OfferCost, offerCost } from '../pricing.ts'
import type { Settings } from '../settings.ts'
import type { Store } from '../store.ts'
import type { HopHealth } from './hop-health.ts'
import { arrangeOffers, findOffers, type Offer } from './offer.ts'

interface Claimant {
  readonly caller: Caller
  readonly request: ChatRequest
  readonly generationId: GenerationId
  readonly repeat: Repeat | null
}

export interface ClaimDeps {
  readonly clock: Clock
  readonly settings: Settings
  readonly health: HopHealth
  readonly store: Pick<Store, 'catalogue' | 'owner'>
}

/** An offer and what the request costs at most there. */
export interface CostedOffer {
  readonly offer: Offer
  readonly cost: OfferCost
}

/** In the order they are tried; never empty. */
export type CostedOffers = readonly [CostedOffer, ...CostedOffer[]]

/** A claim covers what every one of its offers may cost, so that one verdict covers them all. */
export interface OffersClaimed {
  readonly offers: CostedOffers
  readonly claim: Claim
}

/**
 * What the catalogue offers at this instant, and the claim of it.
 * @throws what `findOffers` throws; invalid_request for a thinking budget that the key's limit has no room for
 */
export function claimNow(
  { clock, settings, health, store }: ClaimDeps,
  { caller: { key, requestId }, request, generationId, repeat }: Claimant,
): OffersClaimed {
  const at = clock.now()
  const catalogue = store.catalogue.current()
  const found = arrangeOffers(health, request, findOffers({ catalogue, key, at }, request))
  checkThinking(request, found[0].hop, key)
  const offers = found.map((offer) => ({
    offer,
    cost: toOfferCost(request, offer, key.limits.maxOutputTokens, settings),
  })) as unknown as CostedOffers
  return {
    offers,
    claim: {
      generationId,
      requestId,
      owner: store.owner,
      keyId: key.id,
      accountId: key.accountId,
      at,
      model: found[0].hop.card.id,
      endUser: request.endUser,
      repeat,
      offers: offers.map(({ cost }) => cost),
      catalogue: catalogue.version,
    },
  }
}

/** What a request costs at most at an offer; `keyBound` is the key's `max_output_tokens`. */
export function toOfferCost(
  request: ChatRequest,
  { hop, version }: Offer,
  keyBound: number | null,
  settings: Settings,
): OfferCost {
  const full = fullBound(request, hop, keyBound, settings)
  return offerCost(
    mostOfBase(request, hop.card, version.prices),
    mostPerMillionOutput(request, hop.card, version.prices),
    request.choices,
    full,
    floorBound(request, hop, full, settings),
  )
}
