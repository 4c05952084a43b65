/** The end of a walk: its outcome, its charge, and its entry in the log. */
import {
  type ActivityEntry,
  CLIENT_CLOSED_REQUEST,
  type EndedBy,
  type FailedAttempt,
  type LoggedRefusal,
} from '../activity.ts'
import type { AdmissionQueue } from '../admission-queue.ts'
import type { CancelSignal } from '../cancel.ts'
import type { ChatRequest } from '../chat.ts'
import { type Clock, elapsedMs, type Instant, sinceArrivalMs } from '../clock.ts'
import { type ErrorMetadata, GatewayError, toGatewayError } from '../errors.ts'
import type { GenerationId } from '../id.ts'
import type { FoundAnswer, StagedAnswer } from '../idempotency.ts'
import type { Charge } from '../ledger.ts'
import type { Hop, ImageChoice } from '../model-card.ts'
import { NO_MONEY, type RubMicros, type UsdNanos } from '../money.ts'
import { chargeFor } from '../pricing.ts'
import type { Store } from '../store.ts'
import { toClientError, UpstreamFailure } from '../upstream.ts'
import { NO_USAGE } from '../usage.ts'
import { NO_QUOTA, type QuotaReading } from '../window.ts'
import { type Attempt, imageOf, withheldCost } from './attempt.ts'
import type { Walk } from './walk.ts'

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

export const COMPLETED: Outcome = { endedBy: 'completed', error: null }
/** A stream that cost more than was held for it was ended like one at its bound (contract §8). */
export const CUT: Outcome = { endedBy: 'gateway', error: null }
const LEFT_BY_CLIENT: Outcome = { endedBy: 'client', error: null }

/** The gateway aborts with an error (a drain timed out, or an operator ended the request); a disconnecting client has none. */
export const judgeAbort = ({ reason }: CancelSignal): Outcome =>
  reason instanceof GatewayError ? { endedBy: 'gateway', error: reason } : LEFT_BY_CLIENT

/** The outcome of an error thrown inside the walk. */
export function judgeFailure(
  thrown: unknown,
  { provider }: Hop,
  { allowFallbacks }: ChatRequest,
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
export function priceOutcome(outcome: Outcome, attempt: Attempt): Charge | null {
  const { offer, meter, isSent } = attempt
  const chargeable =
    outcome.endedBy === 'completed' ||
    (outcome.endedBy === 'client'
      ? isSent
      : meter.hasContent && outcome.error?.code !== 'no_image_returned')
  if (!chargeable) return null
  const { usage, source } =
    outcome.endedBy === 'client' ? meter.readAfterDisconnect() : meter.read()
  const { version, rate } = offer
  return chargeFor(usage, version, rate.rubPerUsd, source, imageOf(attempt))
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
export async function refuse(
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
    quota ?? (await admissions.quota(key.id, deps.clock.now()).catch(() => NO_QUOTA)),
    walk.generationId,
  )
}

/** Logs a request that ended while it waited for its admission; nothing was taken. @throws the gateway's own error */
export async function leave(deps: EndingDeps, walk: Walk, outcome: Outcome): Promise<void> {
  if (outcome.error) return await refuse(deps, walk, outcome.error, null)
  noteEnding(deps, toEntry(deps, walk, outcome, null))
}

/** Resolves the admission and writes the walk's log entry. Those who wait for its hold are judged at once. */
export function settle(
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
    model: hop?.card.id ?? request.model,
    provider: hop?.provider.name ?? null,
    endUser: request.endUser,
    stream: request.stream,
    status: error?.status ?? (endedBy === 'client' ? CLIENT_CLOSED_REQUEST : 200),
    code: error?.code ?? null,
    endedBy,
    finishReason: meter ? (error ? 'error' : meter.finishReason) : null,
    startedAt: arrivedAt,
    queuedMs: Math.min(totalMs, elapsedMs(arrivedAt, admittedAt(walk))),
    hold: heldFor(walk),
    loweredBound: loweredBoundOf(walk),
    firstEventMs:
      firstEventAt === null ? null : Math.min(totalMs, elapsedMs(arrivedAt, firstEventAt)),
    totalMs,
    usage: charge?.usage ?? NO_USAGE,
    usageSource: charge?.source ?? null,
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

const loweredBoundOf = ({ attempts }: Walk): number | null =>
  attempts === null ? null : attempts.current.loweredBound

/** When it was admitted, or last judged; its arrival before that. */
const admittedAt = ({ grant, claim, caller }: Walk): Instant =>
  grant?.at ?? claim?.at ?? caller.arrivedAt

const NO_RUB = 0n as RubMicros
const NONE_FAILED: readonly FailedAttempt[] = []

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
