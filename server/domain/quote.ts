/** A quote: whether a request would be admitted, and its highest possible cost. Takes nothing and sends nothing. */

import type { Caller } from './caller.ts'
import type { ChatRequest } from './chat.ts'
import { maxCost, toClaim } from './claim.ts'
import type { CompletionDeps } from './completion.ts'
import type { GatewayError } from './errors.ts'
import { newGenerationId } from './id.ts'
import { type RubMicros, toRub, type UsdNanos } from './money.ts'
import { findOffers } from './offer.ts'
import type { QuotaReading } from './quota.ts'
import { toRefusalError } from './refusal.ts'

/** One hop of the route, in the order that this request would have tried them. */
export interface QuotedHop {
  readonly model: string
  readonly provider: string
  readonly maxCost: UsdNanos
}

export interface Quote {
  /** Null where the request would be admitted. */
  readonly refusal: GatewayError | null
  readonly quota: QuotaReading
  readonly route: readonly QuotedHop[]
  /** The amount that would be held: the highest possible cost on any hop of its route. */
  readonly maxCost: UsdNanos
  readonly maxCostRub: RubMicros
}

/**
 * Judges a request as `complete` would at this instant, and takes nothing.
 * @throws the errors before admission: model_not_allowed, model_not_found, unsupported_modality, unpriced_model …
 */
export async function quote(
  deps: CompletionDeps,
  caller: Caller,
  request: ChatRequest,
): Promise<Quote> {
  const offers = await findOffers(deps, caller.key, request)
  const generationId = newGenerationId(caller.arrivedAt)
  const claim = toClaim(deps, { caller, request, generationId }, offers)
  const verdict = await deps.store.admissions.judge(claim)
  return {
    refusal: verdict.admitted ? null : toRefusalError(verdict.refusal, caller.key.name),
    quota: verdict.quota,
    route: offers.map((offer) => ({
      model: offer.hop.card.id,
      provider: offer.hop.provider.name,
      maxCost: maxCost(deps, request, offer),
    })),
    maxCost: claim.hold,
    maxCostRub: toRub(claim.hold, offers[0].rate.rubPerUsd),
  }
}
