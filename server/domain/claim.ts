/** What a request claims before it goes upstream: a slot of every window, a place, and the most that it can cost. */
import type { Claim } from './admission.ts'
import type { Caller } from './caller.ts'
import type { ChatRequest } from './chat.ts'
import type { Clock } from './clock.ts'
import type { GenerationId } from './id.ts'
import { NO_MONEY, type UsdNanos } from './money.ts'
import type { Offer, Offers } from './offer.ts'
import { holdFor } from './pricing.ts'
import type { Settings } from './settings.ts'

/** Who claims, and for what. */
interface Claimant {
  readonly caller: Caller
  readonly request: ChatRequest
  readonly generationId: GenerationId
}

interface Counting {
  readonly clock: Clock
  readonly settings: Settings
}

/** The hold is that of the dearest offer, so that money is checked for every one of them at once. */
export function toClaim(
  house: Counting,
  { caller: { key, requestId }, request, generationId }: Claimant,
  offers: Offers,
): Claim {
  return {
    generationId,
    requestId,
    keyId: key.id,
    accountId: key.accountId,
    at: house.clock.now(),
    model: offers[0].hop.card.id,
    endUser: request.endUser,
    hold: dearest(house, request, offers),
  }
}

function dearest(house: Counting, request: ChatRequest, offers: Offers): UsdNanos {
  let most = NO_MONEY
  for (const offer of offers) {
    const hold = mostOf(house, request, offer)
    if (hold > most) most = hold
  }
  return most
}

/** The most that a request can cost at one offer. */
export const mostOf = (
  { settings }: Counting,
  request: ChatRequest,
  { hop, version }: Offer,
): UsdNanos => holdFor(request, hop.card, version, settings.reserveOutputTokens)
