/** The walk of one request, from model card to receipt, top to bottom. A non-streamed answer folds the same events. */
import type { Repeated, Verdict } from '../admission.ts'
import type { AnswerHead } from '../chat.ts'
import { momentOf, unixSeconds } from '../clock.ts'
import type { GenerationId } from '../id.ts'
import { type Repeat, type Repetition, type StagedAnswer, toConflictError } from '../idempotency.ts'
import type { Caller } from '../key.ts'
import type { Charge } from '../ledger.ts'
import type { Hop } from '../model-card.ts'
import { toRefusalError } from '../refusal.ts'
import {
  type Attempts,
  askFirst,
  isBeyondHold,
  noteFailure,
  requireImages,
  startAttempts,
} from './attempt.ts'
import {
  AnswerKept,
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
import type { Offer } from './offer.ts'
import { type CostedOffers, claimNow, type OffersClaimed } from './offer.ts'
import { type CompletionDeps, READER_LEFT, type StepReader, type Walk } from './walk.ts'

/**
 * Answers one chat request: runs a walk to its end, calling `reader` with every step. It throws `RequestRefused` before its
 * first step if the request was not admitted, `AnswerKept` or a conflict if it repeats another, and `GatewayError` after it if the upstream failed before any content. However it
 * ends, its admission is resolved exactly once.
 */
export async function runWalk(walk: Walk, reader: StepReader): Promise<void> {
  const { deps, caller, request, signal, generationId } = walk
  walk.reader = reader
  try {
    const judged = await judge(walk)
    if (judged === null) return
    const { offers, verdict } = judged
    const { grant, quota } = verdict
    const attempts = startAttempts(deps, walk, offers[0], grant)
    walk.attempts = attempts
    let outcome: Outcome
    try {
      const { hold } = grant
      const { loweredBound } = attempts.current
      await walk.emit({ type: 'admitted', generationId, quota, hold, loweredBound })
      const events = await askFirst(deps, walk, offers, grant, attempts)
      const { meter, offer } = attempts.current
      await walk.emit({
        type: 'opened',
        head: toHead(generationId, caller, offer.hop),
        loweredBound: attempts.current.loweredBound,
      })
      outcome = COMPLETED
      for await (const batch of events) {
        const delivered = meter.note(batch)
        if (meter.produced && walk.firstEventAt === null) noteFirst(walk, offer)
        await walk.emit({ type: 'events', events: delivered })
        if (!isBeyondHold(attempts.current, hold)) continue
        outcome = CUT
        await walk.emit({ type: 'events', events: meter.cut() })
        break
      }
      // An aborted exchange ends like a complete stream; without a finish reason, only the signal distinguishes them.
      if (meter.finishReason === null) signal.throwIfAborted()
      requireImages(request, meter)
    } catch (thrown) {
      // `READER_LEFT`: the reader stopped reading; the signal says why.
      outcome =
        thrown === READER_LEFT
          ? judgeAbort(signal)
          : judgeFailure(thrown, attempts.current.offer.hop, request, signal)
    }
    const charge = priceOutcome(outcome, attempts.current)
    endExchange(deps, outcome, attempts, charge !== null)
    let answer: StagedAnswer | null = null
    try {
      if (walk.repeat !== null && charge !== null && isWhole(outcome)) {
        answer = await stage(walk, walk.repeat, charge)
      }
    } finally {
      await settle(deps, walk, outcome, charge, answer)
    }
    if (outcome.error) {
      if (charge === null) throw outcome.error
      await walk.emit({ type: 'failed', error: outcome.error })
    }
    if (charge !== null) await walk.emit({ type: 'receipt', charge })
  } finally {
    walk.end()
  }
}

interface Admitted {
  readonly offers: CostedOffers
  readonly verdict: Extract<Verdict, { admitted: true }>
}

/** Null for a client that left while it waited. @throws RequestRefused */
async function judge(walk: Walk): Promise<Admitted | null> {
  const { deps, caller, signal } = walk
  let asked: OffersClaimed | undefined
  let verdict: Verdict | Repeated
  try {
    verdict = await deps.queue.admit(() => {
      asked = claimNow(deps, walk)
      walk.claim = asked.claim
      return asked.claim
    }, signal)
  } catch (thrown) {
    if (!signal.aborted || thrown !== signal.reason) return await refuseFirst(walk, thrown)
    // The client left while it waited for money that others hold.
    await leave(deps, walk, judgeAbort(signal))
    return null
  }
  if ('repetition' in verdict) throw toRepeated(verdict.repetition)
  walk.grant = verdict.grant
  if (verdict.admitted) return { offers: (asked as OffersClaimed).offers, verdict }
  const error = toRefusalError(verdict.refusal, caller.key.name)
  return await refuse(deps, walk, error, verdict.quota)
}

/** What the catalogue has against a request is nothing to one that repeats another. */
async function refuseFirst(walk: Walk, thrown: unknown): Promise<never> {
  const { deps, caller, repeat } = walk
  const repetition =
    repeat && (await deps.store.answers.find(caller.key.id, repeat, deps.clock.now()))
  if (repetition) throw toRepeated(repetition)
  return await refuse(deps, walk, thrown, null)
}

const toRepeated = (repetition: Repetition): Error =>
  repetition.is === 'kept' ? new AnswerKept(repetition.answer) : toConflictError(repetition)

function noteFirst(walk: Walk, { hop }: Offer): void {
  walk.firstEventAt = momentOf(walk.deps.clock, walk.caller)
  walk.deps.health.began(hop)
}

const isWhole = (outcome: Outcome): boolean => outcome === COMPLETED || outcome === CUT

/** Writes a repeatable answer before its charge, which shows it: a kill loses both or neither. Null where it cannot be kept. */
async function stage(walk: Walk, repeat: Repeat, charge: Charge): Promise<StagedAnswer | null> {
  const { deps, caller, generationId } = walk
  await walk.emit({ type: 'priced', charge })
  if (walk.answer === null) return null
  const facts = { keyId: caller.key.id, repeat, generationId, keptAt: deps.clock.now() }
  // It is sent whether or not it can be kept.
  return await deps.store.answers.stage({ ...facts, ...walk.answer }).catch(() => null)
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
