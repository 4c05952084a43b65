/** A quote: whether a request would be admitted and a provider can be told it, and its highest possible cost. Takes and sends nothing. */
import { Canceller } from '../cancel.ts'
import { untilCurrent } from '../catalogue.ts'
import type { GatewayError } from '../errors.ts'
import { newGenerationId } from '../id.ts'
import type { Caller } from '../key.ts'
import { type RubMicros, toRub, type UsdNanos } from '../money.ts'
import { boundFor, boundToSend, costWithin } from '../offer-cost.ts'
import { toRefusalError } from '../refusal.ts'
import { toClientError, UpstreamFailure } from '../upstream.ts'
import type { QuotaReading } from '../window.ts'
import type { Work } from '../work.ts'
import { askDry } from './attempt.ts'
import { type CostedOffer, type CostedOffers, makeClaim } from './offer.ts'
import type { CompletionDeps } from './walk.ts'

/** One hop of the route, in the order that this request would have tried them. */
export interface QuotedHop {
  readonly model: string
  readonly provider: string
  readonly maxCost: UsdNanos
  /** The bound of the answer's length, in tokens of one choice. */
  readonly maxOutputTokens: number
  /** The same, where it is lower than the client's own or the model's; else null. */
  readonly loweredBound: number | null
}

export interface Quote {
  /** Null where the request would be admitted, and a provider of its route can be told it. */
  readonly refusal: GatewayError | null
  readonly quota: QuotaReading
  readonly route: readonly QuotedHop[]
  /** The amount that would be held: the highest possible cost on any hop of its route. */
  readonly maxCost: UsdNanos
  readonly maxCostRub: RubMicros
}

/**
 * Judges a request as a walk would at this instant, and writes it as its provider would get it. Takes nothing.
 * @throws the errors before admission: model_not_allowed, model_not_found, unsupported_modality, unpriced_model …
 */
export async function quote(deps: CompletionDeps, caller: Caller, request: Work): Promise<Quote> {
  const generationId = newGenerationId(caller.arrivedAt)
  const { offers, verdict } = await untilCurrent(async () => {
    const { offers, claim } = makeClaim(deps, { caller, request, generationId, repeat: null })
    const verdict = await deps.store.admissions.judge(claim)
    return verdict === 'stale' ? verdict : { offers, verdict }
  })
  const { hold, money } = verdict.grant
  return {
    refusal: verdict.admitted
      ? await findRejection({ deps, caller, signal: new Canceller(), grant: verdict.grant }, offers)
      : toRefusalError(verdict.refusal, caller.key.name),
    quota: verdict.quota,
    route: offers.map((offer) => quoteHop(deps, request, offer, money)),
    maxCost: hold,
    maxCostRub: toRub(hold, offers[0].rate.rubPerUsd),
  }
}

/** Why no hop of the route could be told the request, as its client would read it; null where one could. */
async function findRejection(
  walk: Parameters<typeof askDry>[0],
  offers: CostedOffers,
): Promise<GatewayError | null> {
  let rejection: GatewayError | null = null
  for (const offer of offers) {
    try {
      await askDry(walk, offer)
      return null
    } catch (thrown) {
      if (!(thrown instanceof UpstreamFailure)) throw thrown
      // What else is wrong with a provider shows when it is asked.
      if (thrown.kind !== 'rejected') return null
      rejection = toClientError(thrown, offer.hop.provider.name, offer.sent.allowFallbacks)
    }
  }
  return rejection
}

function quoteHop(
  { settings }: CompletionDeps,
  request: Work,
  { hop, cost }: CostedOffer,
  money: UsdNanos | null,
): QuotedHop {
  const bound = boundFor(cost, money)
  const { sent, lowered } = boundToSend(request, hop, bound, settings)
  return {
    model: hop.card.id,
    provider: hop.provider.name,
    maxCost: costWithin(cost, bound),
    maxOutputTokens: sent ?? bound,
    loweredBound: lowered,
  }
}
