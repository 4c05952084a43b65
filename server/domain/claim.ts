/** What a request claims before it is sent upstream: a slot of every window, one of concurrency, and its highest possible cost. */
import type { Claim } from './admission.ts'
import type { Caller } from './caller.ts'
import type { ChatRequest } from './chat.ts'
import type { Clock } from './clock.ts'
import type { GenerationId } from './id.ts'
import { NO_MONEY, type UsdNanos } from './money.ts'
import type { Offer, Offers } from './offer.ts'
import { holdFor } from './pricing.ts'
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

/** The hold is that of the most expensive offer, so that one check covers all offers. */
export function toClaim(
  deps: ClaimDeps,
  { caller: { key, requestId }, request, generationId }: Claimant,
  offers: Offers,
): Claim {
  return {
    generationId,
    requestId,
    keyId: key.id,
    accountId: key.accountId,
    at: deps.clock.now(),
    model: offers[0].hop.card.id,
    endUser: request.endUser,
    hold: highestHold(deps, request, offers),
  }
}

function highestHold(deps: ClaimDeps, request: ChatRequest, offers: Offers): UsdNanos {
  let most = NO_MONEY
  for (const offer of offers) {
    const hold = maxCost(deps, request, offer)
    if (hold > most) most = hold
  }
  return most
}

/** The highest possible cost of a request at one offer. */
export const maxCost = (
  { settings }: ClaimDeps,
  request: ChatRequest,
  { hop, version }: Offer,
): UsdNanos => holdFor(request, hop.card, version, settings.reserveOutputTokens)
