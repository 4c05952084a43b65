/** The walk of one request, from model card to receipt, top to bottom. A non-streamed answer folds the same events. */
import type { Verdict } from './admission.ts'
import type { AdmissionQueue } from './admission-queue.ts'
import {
  type AttemptDeps,
  type Attempts,
  isBeyondHold,
  noteFailure,
  openFirst,
  startAttempts,
} from './attempt.ts'
import { type Caller, momentOf } from './caller.ts'
import type { CancelSignal } from './cancel.ts'
import type { AnswerHead, ChatRequest } from './chat.ts'
import { type CostedOffers, costOffers, toClaim } from './claim.ts'
import { unixSeconds } from './clock.ts'
import {
  COMPLETED,
  CUT,
  judgeAbort,
  judgeFailure,
  leave,
  type Outcome,
  priceOutcome,
  refuse,
  settle,
} from './ending.ts'
import { requireImages } from './hold-until-content.ts'
import type { GenerationId } from './id.ts'
import type { Pay } from './idempotency.ts'
import type { Charge } from './ledger.ts'
import { findOffers } from './offer.ts'
import { toRefusalError } from './refusal.ts'
import type { Hop } from './route.ts'
import type { Store } from './store.ts'
import { READER_LEFT, Walk } from './walk.ts'

export interface CompletionDeps extends AttemptDeps {
  readonly queue: AdmissionQueue
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
  const { deps, caller, request, signal } = walk
  try {
    let offers: CostedOffers
    let verdict: Verdict
    try {
      const found = findOffers(deps, caller.key, request)
      offers = costOffers(deps, walk, found instanceof Promise ? await found : found)
      const claim = toClaim(deps, walk, offers)
      walk.claim = claim
      const judged = deps.queue.admit(claim, signal)
      verdict = judged instanceof Promise ? await judged : judged
    } catch (thrown) {
      // The client left while it waited for money that others hold.
      if (signal.aborted && walk.claim !== null) return await leave(deps, walk, judgeAbort(signal))
      return await refuse(deps, walk, thrown, null)
    }
    const { grant } = verdict
    walk.grant = grant
    if (!verdict.admitted) {
      const error = toRefusalError(verdict.refusal, caller.key.name)
      return await refuse(deps, walk, error, verdict.quota)
    }

    const attempts = startAttempts(deps, walk, offers[0], grant)
    walk.attempts = attempts
    const outcome = await passOn(walk, offers, attempts, verdict)
    const charge = priceOutcome(outcome, attempts.current)
    endExchange(deps, outcome, attempts, charge !== null)
    if (walk.isRepeatable && charge !== null && isWhole(outcome)) {
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

/** Passes the answer on to its reader, to its end or the request's. */
async function passOn(
  walk: Walk,
  offers: CostedOffers,
  attempts: Attempts,
  { quota, grant }: Verdict,
): Promise<Outcome> {
  const { deps, caller, request, signal, generationId } = walk
  let outcome = COMPLETED
  try {
    await walk.emit({
      type: 'admitted',
      generationId,
      quota,
      hold: grant.hold,
      loweredBound: attempts.current.loweredBound,
    })
    const events = await openFirst(deps, walk, offers, grant, attempts)
    const { meter, offer } = attempts.current
    await walk.emit({
      type: 'opened',
      head: toHead(generationId, caller, offer.hop),
      loweredBound: attempts.current.loweredBound,
    })
    for await (const batch of events) {
      const delivered = meter.note(batch)
      if (meter.produced && walk.firstEventAt === null) {
        walk.firstEventAt = momentOf(deps.clock, caller)
        deps.health.began(offer.hop)
      }
      await walk.emit({ type: 'events', events: delivered })
      if (isBeyondHold(attempts.current, grant.hold)) {
        outcome = CUT
        await walk.emit({ type: 'events', events: meter.cut() })
        break
      }
    }
    // An aborted exchange ends like a complete stream; without a finish reason, only the signal distinguishes them.
    if (meter.finishReason === null) signal.throwIfAborted()
    requireImages(request, meter)
    return outcome
  } catch (thrown) {
    // `READER_LEFT`: the reader stopped reading; the signal says why.
    if (thrown === READER_LEFT) return judgeAbort(signal)
    return judgeFailure(thrown, attempts.current.offer.hop, request, signal)
  }
}

const isWhole = (outcome: Outcome): boolean => outcome === COMPLETED || outcome === CUT

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
