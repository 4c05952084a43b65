/** What a request claims before it goes upstream: a slot of every window, a place, and the most that it can cost. */
import type { Claim } from './admission.ts'
import type { Caller } from './caller.ts'
import type { ChatRequest } from './chat.ts'
import type { Clock } from './clock.ts'
import type { GenerationId } from './id.ts'
import type { UsdNanos } from './money.ts'
import type { Offer, Offers } from './offer.ts'
import { holdFor } from './pricing.ts'
import type { Settings } from './settings.ts'

interface Counting {
  readonly clock: Clock
  readonly settings: Settings
}

/** The hold is that of the dearest offer, so that money is checked for every one of them at once. */
export function toClaim(
  house: Counting,
  { key, requestId }: Caller,
  request: ChatRequest,
  generationId: GenerationId,
  offers: Offers,
): Claim {
  const holds = offers.map((offer) => mostOf(house, request, offer))
  return {
    generationId,
    requestId,
    keyId: key.id,
    accountId: key.accountId,
    at: house.clock.now(),
    model: offers[0].hop.card.id,
    endUser: request.endUser,
    hold: holds.reduce((most, hold) => (hold > most ? hold : most)),
  }
}

/** The most that a request can cost at one offer. */
export const mostOf = (
  { settings }: Counting,
  request: ChatRequest,
  { hop, version }: Offer,
): UsdNanos => holdFor(request, hop.card, version, settings.reserveOutputTokens)
