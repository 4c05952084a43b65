/** The walk of one request, from model card to receipt, top to bottom. A non-streamed answer folds the same events. */
import type { Verdict } from './admission.ts'
import {
  type AttemptDeps,
  type Attempts,
  noteFailure,
  openFirst,
  startAttempts,
} from './attempt.ts'
import type { Caller } from './caller.ts'
import type { CancelSignal } from './cancel.ts'
import type { AnswerHead, ChatRequest } from './chat.ts'
import { toClaim } from './claim.ts'
import { unixSeconds } from './clock.ts'
import {
  COMPLETED,
  judgeAbort,
  judgeFailure,
  type Outcome,
  priceOutcome,
  refuse,
  settle,
} from './ending.ts'
import { requireImages } from './hold-until-content.ts'
import type { GenerationId } from './id.ts'
import type { Pay } from './idempotency.ts'
import type { Charge } from './ledger.ts'
import { findOffers, type Offers } from './offer.ts'
import { toRefusalError } from './refusal.ts'
import type { Hop } from './route.ts'
import type { Store } from './store.ts'
import { READER_LEFT, Walk } from './walk.ts'

export interface CompletionDeps extends AttemptDeps {
  readonly store: Pick<Store, 'admissions' | 'models' | 'providers' | 'rates' | 'activity'>
}

/**
 * Answers one chat request. The walk throws `RequestRefused` before its first step if the request was not admitted, and
 * `GatewayError` after it if the upstream failed before any content. However it ends, by `return()` too, its admission is
 * resolved exactly once.
 */
export const complete = (
  deps: CompletionDeps,
  caller: Caller,
  request: ChatRequest,
  signal: CancelSignal,
): Walk => new Walk(deps, caller, request, signal, walkOn)

async function walkOn(walk: Walk): Promise<void> {
  const { deps, caller, request, signal, generationId } = walk
  try {
    let offers: Offers
    let verdict: Verdict
    try {
      const found = findOffers(deps, caller.key, request)
      offers = found instanceof Promise ? await found : found
      const claim = toClaim(deps, walk, offers)
      walk.claim = claim
      const judged = deps.store.admissions.admit(claim)
      verdict = judged instanceof Promise ? await judged : judged
    } catch (thrown) {
      return await refuse(deps, walk, thrown, null)
    }
    if (!verdict.admitted) {
      const error = toRefusalError(verdict.refusal, caller.key.name)
      return await refuse(deps, walk, error, verdict.quota)
    }

    const attempts = startAttempts(deps, offers[0], request, signal)
    walk.attempts = attempts
    let outcome: Outcome
    try {
      await walk.emit({ type: 'admitted', generationId, quota: verdict.quota })
      const events = await openFirst(deps, walk, offers, attempts)
      const { meter, offer } = attempts.current
      await walk.emit({ type: 'opened', head: toHead(generationId, caller, offer.hop) })
      for await (const batch of events) {
        const delivered = meter.note(batch)
        if (meter.produced && walk.firstEventAt === null) {
          walk.firstEventAt = deps.clock.now()
          deps.health.began(offer.hop)
        }
        await walk.emit({ type: 'events', events: delivered })
      }
      // An aborted exchange ends like a complete stream; without a finish reason, only the signal distinguishes them.
      if (meter.finishReason === null) signal.throwIfAborted()
      requireImages(request, meter)
      outcome = COMPLETED
    } catch (thrown) {
      // `READER_LEFT`: the reader stopped reading; the signal says why.
      outcome =
        thrown === READER_LEFT
          ? judgeAbort(signal)
          : judgeFailure(thrown, attempts.current.offer.hop, request, signal)
    }
    const charge = priceOutcome(outcome, attempts.current)
    endExchange(deps, outcome, attempts, charge !== null)
    if (walk.isRepeatable && charge !== null && outcome === COMPLETED) {
      await settleOnceKept(walk, charge, () => settle(deps, walk, outcome, charge))
    } else await settle(deps, walk, outcome, charge)
    if (outcome.error) {
      if (charge === null) throw outcome.error
      await walk.emit({ type: 'failed', error: outcome.error })
    }
    if (charge !== null) await walk.emit({ type: 'receipt', charge })
  } finally {
    walk.end()
  }
}

/** A repeatable answer is written to disk before its charge is committed, so that a crash cannot charge for a lost answer. */
async function settleOnceKept(walk: Walk, charge: Charge, settle: Pay): Promise<void> {
  let paying: Promise<boolean> | null = null
  const pay = (): Promise<boolean> => {
    paying ??= settle()
    return paying
  }
  try {
    await walk.emit({ type: 'priced', charge, pay })
  } catch (thrown) {
    // The answer is complete: a client that disconnects now is charged.
    if (thrown !== READER_LEFT) throw thrown
  } finally {
    await pay()
  }
}

/** Closes the provider's connection however the walk ends: a reader that stops early never iterated over `events`. */
function endExchange(
  deps: CompletionDeps,
  outcome: Outcome,
  attempts: Attempts,
  isCharged: boolean,
): void {
  const { canceller, offer, meter, isProbe } = attempts.current
  if (outcome.failure) {
    noteFailure(deps, attempts, outcome.failure, isCharged)
    return
  }
  if (outcome !== COMPLETED) canceller.abort()
  if (outcome === COMPLETED || meter.produced) deps.health.served(offer.hop)
  else if (isProbe) deps.health.abandoned(offer.hop)
}

const toHead = (id: GenerationId, caller: Caller, { card, provider }: Hop): AnswerHead => ({
  id,
  createdUnixSeconds: unixSeconds(caller.arrivedAt),
  model: card.id,
  provider: provider.name,
})
