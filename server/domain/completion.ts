/** The walk of one request, from its card to its receipt, read from top to bottom. Whole answers are the same walk, folded. */
import { toRefusalError, type Verdict } from './admission.ts'
import {
  type Attempts,
  demandImages,
  noteFailure,
  openFirst,
  type Switchboard,
  startAttempts,
} from './attempt.ts'
import type { Caller } from './caller.ts'
import type { AnswerHead, ChatEvents, ChatRequest } from './chat.ts'
import { toClaim } from './claim.ts'
import { unixSeconds } from './clock.ts'
import {
  COMPLETED,
  judgeFailure,
  judgeLeaving,
  LEFT_BY_CLIENT,
  type Outcome,
  priceOutcome,
  startEnding,
} from './ending.ts'
import type { GatewayError } from './errors.ts'
import { type GenerationId, newGenerationId } from './id.ts'
import type { Charge } from './ledger.ts'
import { findOffers, type Offers } from './offer.ts'
import type { QuotaReading } from './quota.ts'
import type { Hop } from './route.ts'
import type { Store } from './store.ts'

/** What the walk needs of the house. */
export interface CompletionHouse extends Switchboard {
  readonly store: Pick<Store, 'admissions' | 'models' | 'providers' | 'rates' | 'activity'>
}

/** What the counter learns, in this order: `admitted`, `opened`, `events`…, `failed`?, `receipt`. */
export type CompletionStep =
  | {
      readonly type: 'admitted'
      readonly generationId: GenerationId
      readonly quota: QuotaReading
      /** As they are made, for whoever watches. */
      readonly attempts: Attempts
    }
  | { readonly type: 'opened'; readonly head: AnswerHead }
  | { readonly type: 'events'; readonly events: ChatEvents }
  /** The upstream broke after content had passed; what came is charged. */
  | { readonly type: 'failed'; readonly error: GatewayError }
  /** The charge is committed: the answer's last byte may leave. */
  | { readonly type: 'receipt'; readonly charge: Charge }

/**
 * Answers one chat request. The first step throws `RequestRefused` when nothing was taken; a later one throws
 * `GatewayError` when the upstream failed before any content. However the walk ends, also by `return()`, its admission is
 * resolved exactly once.
 */
export async function* complete(
  house: CompletionHouse,
  caller: Caller,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<CompletionStep, void> {
  const generationId = newGenerationId(caller.arrivedAt)
  const ending = startEnding(house, caller, request, generationId)

  let offers: Offers
  let verdict: Verdict
  try {
    const found = findOffers(house, caller.key, request)
    offers = found instanceof Promise ? await found : found
    const claim = toClaim(house, caller, request, generationId, offers)
    ending.noteClaim(claim)
    verdict = await house.store.admissions.admit(claim)
  } catch (thrown) {
    return ending.refuse(thrown, null)
  }
  if (!verdict.admitted) {
    return ending.refuse(toRefusalError(verdict.refusal, caller.key.name), verdict.quota)
  }

  const attempts = startAttempts(house, offers[0], request, signal)
  let outcome: Outcome = LEFT_BY_CLIENT
  let charge: Charge | null = null
  try {
    yield { type: 'admitted', generationId, quota: verdict.quota, attempts }
    const events = await openFirst(house, caller, request, offers, attempts, signal)
    const { meter, offer } = attempts.current
    yield { type: 'opened', head: toHead(generationId, caller, offer.hop) }
    for await (const batch of events) {
      meter.note(batch)
      ending.noteFirstEvent(meter)
      yield { type: 'events', events: batch }
    }
    // A provider's end of stream may only be the echo of our own leaving.
    if (meter.finishReason === null) signal.throwIfAborted()
    demandImages(request, meter)
    outcome = COMPLETED
  } catch (thrown) {
    outcome = judgeFailure(thrown, attempts.current.offer.hop, request, signal)
  } finally {
    // A reader that stands still is left in the end; what it was told before is why.
    if (outcome === LEFT_BY_CLIENT) outcome = judgeLeaving(signal)
    charge = priceOutcome(outcome, attempts.current)
    hangUp(house, outcome, attempts, charge !== null)
    await ending.settle(outcome, attempts, charge)
  }
  if (outcome.error) {
    if (charge === null) throw outcome.error
    yield { type: 'failed', error: outcome.error }
  }
  if (charge !== null) yield { type: 'receipt', charge }
}

/** However the walk ends, the provider is let go: a consumer that stops before the first event never touched `events`. */
function hangUp(
  house: CompletionHouse,
  outcome: Outcome,
  attempts: Attempts,
  isCharged: boolean,
): void {
  const { line, offer, meter, isSent } = attempts.current
  if (outcome.failure) {
    noteFailure(house, attempts, outcome.failure, isCharged)
    return
  }
  if (outcome !== COMPLETED) line.abort()
  if (outcome === COMPLETED || meter.produced) house.health.served(offer.hop)
  else if (isSent) house.health.left(offer.hop)
}

const toHead = (id: GenerationId, caller: Caller, { card, provider }: Hop): AnswerHead => ({
  id,
  createdUnixSeconds: unixSeconds(caller.arrivedAt),
  model: card.id,
  provider: provider.name,
})
