/** The walk of one request, from model card to receipt, top to bottom. A non-streamed answer folds the same events. */
import {
  type ActivityEntry,
  CLIENT_CLOSED_REQUEST,
  type EndedBy,
  type LoggedRefusal,
} from '../activity.ts'
import type { Repeated, Verdict } from '../admission.ts'
import type { CancelSignal } from '../cancel.ts'
import type { AnswerHead } from '../chat.ts'
import { elapsedMs, sinceArrivalMs, unixSeconds } from '../clock.ts'
import { type ErrorMetadata, GatewayError, toGatewayError } from '../errors.ts'
import { type Hop, isNative } from '../hop.ts'
import type { GenerationId } from '../id.ts'
import {
  type FoundAnswer,
  type Repeat,
  type Repetition,
  type StagedAnswer,
  toConflictError,
} from '../idempotency.ts'
import type { Charge } from '../ledger.ts'
import type { ImageChoice } from '../model-card.ts'
import { NO_MONEY, type RubMicros, type UsdNanos } from '../money.ts'
import { toRefusalError } from '../refusal.ts'
import { toClientError, UpstreamFailure } from '../upstream.ts'
import { NO_USAGE } from '../usage.ts'
import { NO_QUOTA, type QuotaReading } from '../window.ts'
import {
  type Attempt,
  type Attempted,
  askFirst,
  imageOf,
  isBeyondHold,
  noteFailure,
  priceOf,
  requireImages,
  startAttempt,
  unchargedCost,
} from './attempt.ts'
import { withoutWords } from './meter.ts'
import { hasPlaces, placeOf } from './session-routes.ts'
import { READER_LEFT, type StepReader, type Walk } from './walk.ts'

/**
 * Answers one request to a model: runs a walk to its end, calling `reader` with every step. It throws `RequestRefused` before its
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
      verdict = deps.queue.isUndecided(first) ? await deps.queue.wait(walk, first, signal) : first
    } catch (thrown) {
      return await endUnjudged(walk, thrown)
    }
    if (!verdict.admitted) return await refuseWalk(walk, verdict)
    const admitted = startAdmitted(walk, verdict)
    const outcome = await passAnswer(admitted, reader)
    const charge = priceOutcome(outcome, admitted.attempt)
    endExchange(admitted, outcome, charge !== null)
    // Committed before the last byte leaves: a kill loses no charge of an answered request; synced only where it is asked for.
    const isSettled = await (repeat !== null && charge !== null && isWhole(outcome)
      ? settleKept(walk, reader, outcome, charge, repeat)
      : settle(walk, outcome, charge, null))
    // Not before: an engine that answers later still holds it.
    deps.queue.released(walk.caller.key.accountId)
    if (charge !== null && !isSettled) throw endedElsewhere()
    if (outcome.error) {
      if (charge === null) throw outcome.error
      await reader.failed(outcome.error)
    }
    const taken = charge && reader.receipt(charge)
    if (taken) await taken
    walk.charge = charge
  } finally {
    walk.end()
  }
}

/** A walk that is admitted. */
type AdmittedWalk = Walk & Attempted

/** Notes with what it is admitted. The first attempt is not asked yet. */
function startAdmitted(walk: Walk, { grant, quota }: Admitted): AdmittedWalk {
  walk.grant = grant
  walk.quota = quota
  const admitted = walk as AdmittedWalk
  admitted.attempt = startAttempt(admitted, admitted.offers[0])
  return admitted
}

/**
 * Passes the provider's answer to the reader. A step that the reader has taken by its return is not awaited: an await of
 * nothing is a turn of the queue of microtasks.
 */
async function passAnswer(walk: AdmittedWalk, reader: StepReader): Promise<Outcome> {
  const { request, signal } = walk
  try {
    const admitted = reader.admitted()
    if (admitted) await admitted
    const events = await askFirst(walk)
    // No other attempt follows.
    request.source?.letGo()
    const { attempt } = walk
    const { meter } = attempt
    walk.head = toHead(walk, attempt.hop)
    const opened = reader.opened(walk.head)
    if (opened) await opened
    for await (const batch of events) {
      if (walk.readsOn) {
        meter.note(withoutWords(batch))
        if (!meter.lacksThoughts) break
        continue
      }
      const delivered = meter.note(batch)
      if (meter.produced && walk.firstEventMs === null) noteFirst(walk, attempt)
      const taken = reader.events(delivered)
      if (taken) await taken
      if (walk.readsOn || !isBeyondHold(attempt, walk.grant.hold)) continue
      await reader.events(meter.cut())
      return CUT
    }
    if (walk.readsOn) return LEFT_BY_CLIENT
    // An aborted exchange ends like a complete stream; without a finish reason, only the signal distinguishes them.
    if (meter.finishReason === null) signal.throwIfAborted()
    requireImages(request, meter)
    return walk.isUnheard ? UNHEARD : COMPLETED
  } catch (thrown) {
    return judgeFailure(thrown, walk)
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
  return await refuse(walk, error, verdict.quota)
}

/** Of a request without a verdict. @throws RequestRefused, unless its client left while it waited for money that others hold */
async function endUnjudged(walk: Walk, thrown: unknown): Promise<void> {
  const { signal } = walk
  if (!signal.aborted || thrown !== signal.reason) return await refuseFirst(walk, thrown)
  await leave(walk, judgeAbort(signal))
}

/** What the catalogue has against a request is nothing to one that repeats another. */
async function refuseFirst(walk: Walk, thrown: unknown): Promise<never> {
  const { deps, caller, repeat } = walk
  const repetition =
    repeat && (await deps.store.answers.find(caller.key.id, repeat, deps.clock.now()))
  if (repetition) throw toRepeated(repetition)
  return await refuse(walk, thrown, null)
}

const toRepeated = (repetition: Repetition): Error =>
  repetition.is === 'kept' ? new AnswerKept(repetition.answer) : toConflictError(repetition)

function noteFirst(walk: Walk, { hop, startedMs }: Attempt): void {
  const { deps, caller, request } = walk
  walk.firstEventMs = sinceArrivalMs(deps.clock, caller)
  deps.health.began(hop)
  if (hop.card.routeOrder === 'latency') {
    deps.health.pace.began(hop, request.stream, deps.clock.monotonicMs() - startedMs)
  }
  if (request.session === undefined || !hasPlaces(hop)) return
  const session = { keyId: caller.key.id, model: hop.card.id, name: request.session }
  deps.sessions.served(session, placeOf(hop))
}

const isComplete = (outcome: Outcome): boolean => outcome === COMPLETED || outcome === UNHEARD

const isWhole = (outcome: Outcome): boolean => isComplete(outcome) || outcome === CUT

/** Settles a repeatable answer, which is written before its charge shows it: a kill loses both or neither. */
async function settleKept(
  walk: Walk,
  reader: StepReader,
  outcome: Outcome,
  charge: Charge,
  repeat: Repeat,
): Promise<boolean> {
  let staged: StagedAnswer | null = null
  let isSettled = false
  try {
    await reader.priced(charge)
    staged = await stage(walk, repeat)
  } finally {
    isSettled = await settle(walk, outcome, charge, staged)
  }
  return isSettled
}

/** By whoever took this process for dead, or was leaving: what is not charged is no answer, so that the client asks again. */
const endedElsewhere = (): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'this request was ended elsewhere while it was answered; nothing was charged',
    { retryAfterSeconds: 1 },
  )

/** Null where it cannot be kept. */
async function stage(walk: Walk, repeat: Repeat): Promise<StagedAnswer | null> {
  const { deps, caller, generationId } = walk
  if (walk.answer === null) return null
  const facts = { keyId: caller.key.id, repeat, generationId, keptAt: deps.clock.now() }
  // It is sent whether or not it can be kept.
  return await deps.store.answers.stage({ ...facts, ...walk.answer }).catch(() => null)
}

/** Closes the provider's connection however the walk ends: a reader that stops early never iterated over `events`. */
function endExchange(walk: AdmittedWalk, outcome: Outcome, isCharged: boolean): void {
  const { health } = walk.deps
  const { signal, hop, meter, isProbe } = walk.attempt
  if (outcome.failure) {
    noteFailure(walk, outcome.failure, isCharged)
    return
  }
  if (!isComplete(outcome)) signal.abort()
  if (isComplete(outcome) || meter.produced) health.served(hop)
  else if (isProbe) health.abandoned(hop)
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
/** Complete, and its client has left before it could be sent. */
const UNHEARD: Outcome = { endedBy: 'client', error: null }

/** The gateway aborts with an error (a drain timed out, or an operator ended the request); a disconnecting client has none. */
const judgeAbort = ({ reason }: CancelSignal): Outcome =>
  reason instanceof GatewayError ? { endedBy: 'gateway', error: reason } : LEFT_BY_CLIENT

/** The outcome of an error thrown inside the walk. */
function judgeFailure(
  thrown: unknown,
  { readsOn, attempt, request, signal }: AdmittedWalk,
): Outcome {
  if (readsOn) return LEFT_BY_CLIENT
  // `READER_LEFT`: the reader stopped reading; the signal says why.
  if (thrown === READER_LEFT || signal.aborted) return judgeAbort(signal)
  if (thrown instanceof UpstreamFailure) {
    const error = toClientError(thrown, attempt.hop.provider.name, request.allowFallbacks)
    return { endedBy: 'upstream', error, failure: thrown }
  }
  return { endedBy: 'gateway', error: toGatewayError(thrown) }
}

/**
 * Completed, or broken off after content arrived: charged for what arrived. Client disconnected: charged, even
 * before any content, once the request was sent to the provider, which bills what it does whether or not anybody reads it. Failed before
 * any content, or without the requested image: no charge.
 */
function priceOutcome(outcome: Outcome, attempt: Attempt): Charge | null {
  const { meter, sending } = attempt
  const chargeable =
    outcome.endedBy === 'completed' ||
    (outcome.endedBy === 'client'
      ? sending.isSent
      : meter.hasContent && outcome.error?.code !== 'no_image_returned')
  if (!chargeable) return null
  const hasLeft = outcome.endedBy === 'client'
  return priceOf(attempt, hasLeft ? meter.readAfterDisconnect(sending.partTokens) : meter.read())
}

/** Logs the end of a request that was not admitted. */
function noteEnding({ deps }: Walk, entry: ActivityEntry): void {
  deps.ended(entry, deps.clock.now())
  deps.store.activity.note(entry)
}

/** Logs the refusal and throws it; no slot and no hold was taken. */
async function refuse(walk: Walk, thrown: unknown, quota: QuotaReading | null): Promise<never> {
  const { deps, caller, grant } = walk
  const error = toGatewayError(thrown)
  const refusal = toLoggedRefusal(error, grant?.hold ?? null)
  noteEnding(walk, toEntry(walk, { endedBy: 'refused', error }, null, refusal))
  throw new RequestRefused(
    error,
    quota ??
      (await deps.store.admissions.quota([caller.key.id], deps.clock.now()).catch(() => []))[0] ??
      NO_QUOTA,
    walk.generationId,
  )
}

/** Logs a request that ended while it waited for its admission; nothing was taken. @throws the gateway's own error */
async function leave(walk: Walk, outcome: Outcome): Promise<void> {
  if (outcome.error) return await refuse(walk, outcome.error, null)
  noteEnding(walk, toEntry(walk, outcome, null))
}

/** Resolves the admission and writes the walk's log entry. */
function settle(
  walk: Walk,
  outcome: Outcome,
  charge: Charge | null,
  answer: StagedAnswer | null,
): Promise<boolean> {
  const { deps, generationId } = walk
  const at = deps.clock.now()
  const activity = toEntry(walk, outcome, charge)
  deps.ended(activity, at)
  return deps.store.admissions.settle(generationId, { at, charge, activity, answer })
}

function toEntry(
  walk: Walk,
  { endedBy, error }: Outcome,
  charge: Charge | null,
  refusal: LoggedRefusal | null = null,
): ActivityEntry {
  const { deps, caller, request, generationId, claim, grant, attempt } = walk
  const { key, requestId, arrivedAt } = caller
  // By a clock that is never set; the instants are those of one that may be.
  const totalMs = sinceArrivalMs(deps.clock, caller)
  const judgedAt = grant?.at ?? claim?.at ?? arrivedAt
  const { usage, source, modifiers, amount, costRub } = charge ?? NOTHING_CHARGED
  return {
    generationId,
    requestId,
    accountId: key.accountId,
    keyId: key.id,
    // By id once the name is resolved; as it was asked for before that.
    model: attempt?.hop.card.id ?? claim?.model ?? request.model,
    provider: attempt?.hop.provider.name ?? null,
    credential: attempt?.hop.credential ?? null,
    endUser: request.endUser,
    surface: request.dialect,
    session: request.session ?? null,
    node: deps.store.owner.node || null,
    stream: request.stream,
    status: error?.status ?? (endedBy === 'client' ? CLIENT_CLOSED_REQUEST : 200),
    code: error?.code ?? null,
    endedBy,
    finishReason: attempt && (error ? 'error' : attempt.meter.finishReason),
    startedAt: arrivedAt,
    queuedMs: Math.min(totalMs, elapsedMs(arrivedAt, judgedAt)),
    // Nothing is held for a request that was not admitted.
    hold: attempt === null ? null : (grant?.hold ?? null),
    loweredBound: walk.loweredBound,
    firstEventMs: walk.firstEventMs,
    totalMs,
    usage,
    usageSource: source,
    modifiers,
    cutTools: attempt === null ? NO_TOOLS : cutToolsOf(attempt),
    cost: amount,
    costRub,
    image: attempt && charge && imageCharged(attempt, charge),
    statedCost: attempt?.meter.statedCost ?? null,
    failedAttempts: walk.failedAttempts,
    unchargedCost: attempt && charge ? unchargedCost(attempt, charge) : NO_MONEY,
    refusal,
  }
}

const NO_TOOLS: readonly string[] = []

const cutToolsOf = ({ request }: Attempt): readonly string[] =>
  request.kind === 'generate' && request.cutTools !== undefined
    ? [...request.cutTools.values()].map(({ type }) => type)
    : NO_TOOLS

const NOTHING_CHARGED = {
  usage: NO_USAGE,
  source: null,
  modifiers: [],
  amount: NO_MONEY,
  costRub: 0n as RubMicros,
} as const

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
