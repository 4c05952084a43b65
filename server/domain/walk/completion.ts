/** The walk of one request, from model card to receipt, top to bottom. A non-streamed answer folds the same events. */
import {
  type ActivityEntry,
  CLIENT_CLOSED_REQUEST,
  type EndedBy,
  type FailedAttempt,
  type LoggedRefusal,
} from '../activity.ts'
import type { Repeated, Verdict } from '../admission.ts'
import type { AdmissionQueue } from '../admission-queue.ts'
import type { CancelSignal } from '../cancel.ts'
import type { AnswerHead } from '../chat.ts'
import {
  type Clock,
  elapsedMs,
  type Instant,
  momentOf,
  sinceArrivalMs,
  unixSeconds,
} from '../clock.ts'
import { type ErrorMetadata, GatewayError, toGatewayError } from '../errors.ts'
import type { GenerationId } from '../id.ts'
import {
  type FoundAnswer,
  type Repeat,
  type Repetition,
  type StagedAnswer,
  toConflictError,
} from '../idempotency.ts'
import type { Charge } from '../ledger.ts'
import type { Hop, ImageChoice } from '../model-card.ts'
import { NO_MONEY, type RubMicros, type UsdNanos } from '../money.ts'
import { isNative } from '../native.ts'
import { toRefusalError } from '../refusal.ts'
import type { Store } from '../store.ts'
import { toClientError, UpstreamFailure } from '../upstream.ts'
import { NO_USAGE } from '../usage.ts'
import { NO_QUOTA, type QuotaReading } from '../window.ts'
import type { Work } from '../work.ts'
import {
  type Attempt,
  type Attempts,
  askFirst,
  imageOf,
  isBeyondHold,
  noteFailure,
  priceOf,
  requireImages,
  startAttempts,
  withheldCost,
} from './attempt.ts'
import type { CostedOffers, Offer } from './offer.ts'
import { type CompletionDeps, READER_LEFT, type StepReader, type Walk } from './walk.ts'

/**
 * Answers one chat request: runs a walk to its end, calling `reader` with every step. It throws `RequestRefused` before its
 * first step if the request was not admitted, `AnswerKept` or a conflict if it repeats another, and `GatewayError` after it if
 * the upstream failed before any content. However it ends, its admission is resolved exactly once.
 */
export async function runWalk(walk: Walk, reader: StepReader): Promise<void> {
  const { deps, repeat, signal } = walk
  walk.reader = reader
  try {
    let verdict: Verdict | Repeated
    try {
      const first = await deps.queue.ask(walk)
      verdict = deps.queue.isOpen(first) ? await deps.queue.wait(walk, first, signal) : first
    } catch (thrown) {
      return await endUnjudged(walk, thrown)
    }
    if (!verdict.admitted) return await refuseWalk(walk, verdict)
    const outcome = await answer(walk, verdict, reader)
    const { attempts } = walk as Begun
    const charge = priceOutcome(outcome, attempts.current)
    endExchange(deps, outcome, attempts, charge !== null)
    await (repeat !== null && charge !== null && isWhole(outcome)
      ? settleKept(walk, reader, outcome, charge, repeat)
      : settle(deps, walk, outcome, charge, null))
    if (outcome.error) {
      if (charge === null) throw outcome.error
      await reader.failed(outcome.error)
    }
    const taken = charge && reader.receipt(charge)
    if (taken) await taken
  } finally {
    walk.end()
  }
}

/** A walk that is admitted. */
interface Begun {
  readonly offers: CostedOffers
  readonly attempts: Attempts
}

/**
 * Passes the provider's answer to the reader. A step that the reader has taken by its return is not awaited: an await of
 * nothing is a turn of the queue of microtasks.
 */
async function answer(
  walk: Walk,
  { grant, quota }: Admitted,
  reader: StepReader,
): Promise<Outcome> {
  const { deps, request, signal } = walk
  const { offers } = walk as Begun
  const { hold } = grant
  const attempts = startAttempts(deps, walk, offers[0], grant)
  walk.grant = grant
  walk.quota = quota
  walk.attempts = attempts
  try {
    const admitted = reader.admitted()
    if (admitted) await admitted
    const events = await askFirst(deps, walk, offers, grant, attempts)
    // No other attempt follows.
    if (request.source) request.source.text = null
    const { current } = attempts
    const { meter, offer } = current
    const opened = reader.opened(toHead(walk, offer.hop))
    if (opened) await opened
    for await (const batch of events) {
      const delivered = meter.note(batch)
      if (meter.produced && walk.firstEventAt === null) noteFirst(walk, offer)
      const taken = reader.events(delivered)
      if (taken) await taken
      if (!isBeyondHold(current, hold)) continue
      await reader.events(meter.cut())
      return CUT
    }
    // An aborted exchange ends like a complete stream; without a finish reason, only the signal distinguishes them.
    if (meter.finishReason === null) signal.throwIfAborted()
    requireImages(request, meter)
    return COMPLETED
  } catch (thrown) {
    // `READER_LEFT`: the reader stopped reading; the signal says why.
    return thrown === READER_LEFT
      ? judgeAbort(signal)
      : judgeFailure(thrown, attempts.current.offer.hop, request, signal)
  }
}

type Admitted = Extract<Verdict, { admitted: true }>

/** @throws RequestRefused, or what the request repeats */
async function refuseWalk(
  walk: Walk,
  verdict: Exclude<Verdict | Repeated, Admitted>,
): Promise<never> {
  if ('repetition' in verdict) throw toRepeated(verdict.repetition)
  walk.grant = verdict.grant
  const error = toRefusalError(verdict.refusal, walk.caller.key.name)
  return await refuse(walk.deps, walk, error, verdict.quota)
}

/** Of a request without a verdict. @throws RequestRefused, unless its client left while it waited for money that others hold */
async function endUnjudged(walk: Walk, thrown: unknown): Promise<void> {
  const { deps, signal } = walk
  if (!signal.aborted || thrown !== signal.reason) return await refuseFirst(walk, thrown)
  await leave(deps, walk, judgeAbort(signal))
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
  const { deps, caller, request } = walk
  walk.firstEventAt = momentOf(deps.clock, caller)
  deps.health.began(hop)
  if (request.session === undefined || hop.card.route.length < 2) return
  const session = { keyId: caller.key.id, model: hop.card.id, name: request.session }
  deps.sessions.served(session, hop.provider.name)
}

const isWhole = (outcome: Outcome): boolean => outcome === COMPLETED || outcome === CUT

/** Settles a repeatable answer, which is written before its charge shows it: a kill loses both or neither. */
async function settleKept(
  walk: Walk,
  reader: StepReader,
  outcome: Outcome,
  charge: Charge,
  repeat: Repeat,
): Promise<void> {
  let staged: StagedAnswer | null = null
  try {
    await reader.priced(charge)
    staged = await stage(walk, repeat)
  } finally {
    await settle(walk.deps, walk, outcome, charge, staged)
  }
}

/** Null where it cannot be kept. */
async function stage(walk: Walk, repeat: Repeat): Promise<StagedAnswer | null> {
  const { deps, caller, generationId } = walk
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

const toHead = ({ generationId, caller, request }: Walk, hop: Hop): AnswerHead => ({
  id: generationId,
  createdUnixSeconds: unixSeconds(caller.arrivedAt),
  model: hop.card.id,
  provider: hop.provider.name,
  isNative: isNative(hop, request.dialect),
})

/** A refusal with the quota for its rate headers and the id of its log entry. */
export class RequestRefused extends Error {
  readonly error: GatewayError
  readonly quota: QuotaReading
  readonly generationId: GenerationId

  constructor(error: GatewayError, quota: QuotaReading, generationId: GenerationId) {
    super(error.message, { cause: error })
    this.name = 'RequestRefused'
    this.error = error
    this.quota = quota
    this.generationId = generationId
  }
}

/** What a walk throws that repeats another: nothing was admitted, and nothing is logged. */
export class AnswerKept extends Error {
  readonly answer: FoundAnswer

  constructor(answer: FoundAnswer) {
    super('the answer of an earlier request is kept')
    this.name = 'AnswerKept'
    this.answer = answer
  }
}

export interface Outcome {
  readonly endedBy: EndedBy
  readonly error: GatewayError | null
  /** Set where the upstream broke. */
  readonly failure?: UpstreamFailure
}

const COMPLETED: Outcome = { endedBy: 'completed', error: null }
/** A stream that cost more than was held for it was ended like one at its bound (contract §8). */
const CUT: Outcome = { endedBy: 'gateway', error: null }
const LEFT_BY_CLIENT: Outcome = { endedBy: 'client', error: null }

/** The gateway aborts with an error (a drain timed out, or an operator ended the request); a disconnecting client has none. */
const judgeAbort = ({ reason }: CancelSignal): Outcome =>
  reason instanceof GatewayError ? { endedBy: 'gateway', error: reason } : LEFT_BY_CLIENT

/** The outcome of an error thrown inside the walk. */
function judgeFailure(
  thrown: unknown,
  { provider }: Hop,
  { allowFallbacks }: Work,
  signal: CancelSignal,
): Outcome {
  if (signal.aborted) return judgeAbort(signal)
  if (thrown instanceof UpstreamFailure) {
    const error = toClientError(thrown, provider.name, allowFallbacks)
    return { endedBy: 'upstream', error, failure: thrown }
  }
  return { endedBy: 'gateway', error: toGatewayError(thrown) }
}

/**
 * Completed, or broken off after content arrived: charged for what arrived. Client disconnected: the same, and always
 * charged once the request was sent to the provider. Failed before any content, or without the requested image: no charge.
 */
function priceOutcome(outcome: Outcome, attempt: Attempt): Charge | null {
  const { meter, isSent } = attempt
  const chargeable =
    outcome.endedBy === 'completed' ||
    (outcome.endedBy === 'client'
      ? isSent
      : meter.hasContent && outcome.error?.code !== 'no_image_returned')
  if (!chargeable) return null
  return priceOf(attempt, outcome.endedBy === 'client' ? meter.readAfterDisconnect() : meter.read())
}

interface EndingDeps {
  readonly clock: Clock
  readonly queue: AdmissionQueue
  readonly store: Pick<Store, 'admissions' | 'activity'>
  ended(entry: ActivityEntry, at: Instant): void
}

/** Logs the end of a request that was not admitted. */
function noteEnding(deps: EndingDeps, entry: ActivityEntry): void {
  deps.ended(entry, deps.clock.now())
  deps.store.activity.note(entry)
}

/** Logs the refusal and throws it; no slot and no hold was taken. */
async function refuse(
  deps: EndingDeps,
  walk: Walk,
  thrown: unknown,
  quota: QuotaReading | null,
): Promise<never> {
  const { key } = walk.caller
  const { admissions } = deps.store
  const error = toGatewayError(thrown)
  const refusal = toLoggedRefusal(error, walk.grant?.hold ?? null)
  noteEnding(deps, toEntry(deps, walk, { endedBy: 'refused', error }, null, refusal))
  throw new RequestRefused(
    error,
    quota ?? (await admissions.quota([key.id], deps.clock.now()).catch(() => []))[0] ?? NO_QUOTA,
    walk.generationId,
  )
}

/** Logs a request that ended while it waited for its admission; nothing was taken. @throws the gateway's own error */
async function leave(deps: EndingDeps, walk: Walk, outcome: Outcome): Promise<void> {
  if (outcome.error) return await refuse(deps, walk, outcome.error, null)
  noteEnding(deps, toEntry(deps, walk, outcome, null))
}

/** Resolves the admission and writes the walk's log entry. Those who wait for its hold are judged at once. */
function settle(
  deps: EndingDeps,
  walk: Walk,
  outcome: Outcome,
  charge: Charge | null,
  answer: StagedAnswer | null,
): Promise<boolean> {
  const at = deps.clock.now()
  const activity = toEntry(deps, walk, outcome, charge)
  deps.ended(activity, at)
  const settlement = { at, charge, activity, answer }
  const settled = deps.store.admissions.settle(walk.generationId, settlement)
  deps.queue.released(walk.caller.key.accountId)
  return settled
}

/** By id once the name is resolved; as it was asked for before that. */
const modelOf = ({ attempts, claim, request }: Walk): string =>
  attempts?.current.offer.hop.card.id ?? claim?.model ?? request.model

function toEntry(
  { clock }: EndingDeps,
  walk: Walk,
  { endedBy, error }: Outcome,
  charge: Charge | null,
  refusal: LoggedRefusal | null = null,
): ActivityEntry {
  const { caller, request, generationId, attempts, firstEventAt } = walk
  const { key, requestId, arrivedAt } = caller
  // By a clock that is never set; the instants are those of one that may be.
  const totalMs = sinceArrivalMs(clock, caller)
  const hop = attempts?.current.offer.hop
  const meter = attempts?.current.meter
  return {
    generationId,
    requestId,
    accountId: key.accountId,
    keyId: key.id,
    model: modelOf(walk),
    provider: hop?.provider.name ?? null,
    endUser: request.endUser,
    surface: request.dialect,
    session: request.session ?? null,
    stream: request.stream,
    status: error?.status ?? (endedBy === 'client' ? CLIENT_CLOSED_REQUEST : 200),
    code: error?.code ?? null,
    endedBy,
    finishReason: meter ? (error ? 'error' : meter.finishReason) : null,
    startedAt: arrivedAt,
    queuedMs: Math.min(totalMs, elapsedMs(arrivedAt, admittedAt(walk))),
    hold: heldFor(walk),
    loweredBound: walk.loweredBound,
    firstEventMs:
      firstEventAt === null ? null : Math.min(totalMs, elapsedMs(arrivedAt, firstEventAt)),
    totalMs,
    usage: charge?.usage ?? NO_USAGE,
    usageSource: charge?.source ?? null,
    modifiers: charge?.modifiers ?? NO_NAMES,
    cost: charge?.amount ?? NO_MONEY,
    costRub: charge?.costRub ?? NO_RUB,
    image: attempts && charge ? imageCharged(attempts.current, charge) : null,
    statedCost: meter?.statedCost ?? null,
    failedAttempts: attempts?.failed ?? NONE_FAILED,
    withheldCost: attempts && charge ? withheldCost(attempts.current, charge) : NO_MONEY,
    refusal,
  }
}

/** Nothing is held for a request that was not admitted. */
const heldFor = ({ attempts, grant }: Walk): UsdNanos | null =>
  attempts === null || grant === null ? null : grant.hold

/** When it was admitted, or last judged; its arrival before that. */
const admittedAt = ({ grant, claim, caller }: Walk): Instant =>
  grant?.at ?? claim?.at ?? caller.arrivedAt

const NO_RUB = 0n as RubMicros
const NONE_FAILED: readonly FailedAttempt[] = []
const NO_NAMES: readonly string[] = []

/** Images that never arrived may be charged too, where the client disconnected. */
function imageCharged(attempt: Attempt, { usage }: Charge): ImageChoice | null {
  const isPriced = attempt.offer.version.prices.imagePrices.length > 0
  return isPriced && usage.outputImages > 0 ? imageOf(attempt) : null
}

/** Bounds the log: an allow-list may have tens of kilobytes, and there may be a thousand refusals a second. */
const MAX_LOGGED_CHARS = 1_000

const cut = (text: string): string =>
  text.length > MAX_LOGGED_CHARS ? `${text.slice(0, MAX_LOGGED_CHARS - 1)}…` : text

function toLoggedRefusal({ message, details }: GatewayError, hold: UsdNanos | null): LoggedRefusal {
  const { metadata = null } = details
  return { message: cut(message), metadata: metadata && cutValues(metadata), hold }
}

const cutValues = (metadata: ErrorMetadata): ErrorMetadata =>
  Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [
      name,
      typeof value === 'string' ? cut(value) : value,
    ]),
  )
