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

interface ClaimDeps {
  readonly clock: Clock
  readonly settings: Settings
}

/** The hold is that of the dearest offer, so that money is checked for every one of them at once. */
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
    hold: dearest(deps, request, offers),
  }
}

function dearest(deps: ClaimDeps, request: ChatRequest, offers: Offers): UsdNanos {
  let most = NO_MONEY
  for (const offer of offers) {
    const hold = mostOf(deps, request, offer)
    if (hold > most) most = hold
  }
  return most
}

/** The most that a request can cost at one offer. */
export const mostOf = (
  { settings }: ClaimDeps,
  request: ChatRequest,
  { hop, version }: Offer,
): UsdNanos => holdFor(request, hop.card, version, settings.reserveOutputTokens)
