/** How a walk ends: what its ending means, what it costs, and the one line it leaves in the log. */
import type { ActivityEntry, EndedBy, ToldRefusal } from './activity.ts'
import type { Claim } from './admission.ts'
import { type Attempt, type Attempts, pictureOf } from './attempt.ts'
import type { Caller } from './caller.ts'
import type { ChatRequest } from './chat.ts'
import type { Clock } from './clock.ts'
import { type ErrorMetadata, GatewayError, toGatewayError } from './errors.ts'
import type { GenerationId } from './id.ts'
import type { Charge } from './ledger.ts'
import type { Meter } from './meter.ts'
import { NO_MONEY, type RubMicros, type UsdNanos } from './money.ts'
import { chargeFor } from './pricing.ts'
import { NO_QUOTA, type QuotaReading } from './quota.ts'
import type { Hop } from './route.ts'
import type { Store } from './store.ts'
import { toClientError, UpstreamFailure } from './upstream.ts'
import { NO_USAGE } from './usage.ts'

/** A refusal that knows the rate headers to travel with, and the line it has in the log. */
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

export interface Outcome {
  readonly endedBy: EndedBy
  readonly error: GatewayError | null
  /** Set where the upstream broke. */
  readonly failure?: UpstreamFailure
}

export const COMPLETED: Outcome = { endedBy: 'completed', error: null }
export const LEFT_BY_CLIENT: Outcome = { endedBy: 'client', error: null }

/** The gateway aborts with its own error, when a drain has run out of time or an operator says so; a client leaves without one. */
export const judgeLeaving = ({ reason }: AbortSignal): Outcome =>
  reason instanceof GatewayError ? { endedBy: 'gateway', error: reason } : LEFT_BY_CLIENT

/** What a throw inside the walk means. */
export function judgeFailure(
  thrown: unknown,
  { provider }: Hop,
  { allowFallbacks }: ChatRequest,
  signal: AbortSignal,
): Outcome {
  if (signal.aborted) return judgeLeaving(signal)
  if (thrown instanceof UpstreamFailure) {
    const error = toClientError(thrown, provider.name, allowFallbacks)
    return { endedBy: 'upstream', error, failure: thrown }
  }
  return { endedBy: 'gateway', error: toGatewayError(thrown) }
}

/**
 * Completed, or broken off after something came: what came. Left by the client: what came, and never nothing once the
 * provider was asked. Failed before anything came, or without the image asked for: nothing.
 */
export function priceOutcome(outcome: Outcome, attempt: Attempt): Charge | null {
  const { offer, meter, isSent } = attempt
  const chargeable =
    outcome.endedBy === 'completed' ||
    (outcome.endedBy === 'client'
      ? isSent
      : meter.produced && outcome.error?.code !== 'no_image_returned')
  if (!chargeable) return null
  const { usage, source } = outcome.endedBy === 'client' ? meter.readLeft() : meter.read()
  const { version, rate } = offer
  return chargeFor(usage, version, rate.rubPerUsd, source, pictureOf(attempt))
}

interface Books {
  readonly clock: Clock
  readonly store: Pick<Store, 'admissions' | 'activity'>
}

/** The bookkeeping around one walk: the clock readings and the one line of the activity log. */
export function startEnding(
  house: Books,
  { key, requestId, arrivedAt }: Caller,
  request: ChatRequest,
  generationId: GenerationId,
) {
  let firstEventMs: number | null = null
  let queuedMs = 0
  let held: UsdNanos | null = null

  const entry = (endedBy: EndedBy, error: GatewayError | null): ActivityEntry => ({
    generationId,
    requestId,
    accountId: key.accountId,
    keyId: key.id,
    model: request.model,
    provider: null,
    endUser: request.endUser,
    stream: request.stream,
    status: error?.status ?? (endedBy === 'client' ? CLIENT_CLOSED_REQUEST : 200),
    code: error?.code ?? null,
    endedBy,
    finishReason: null,
    startedAt: arrivedAt,
    queuedMs,
    firstEventMs,
    totalMs: house.clock.now() - arrivedAt,
    usage: NO_USAGE,
    usageSource: null,
    cost: NO_MONEY,
    costRub: 0n as RubMicros,
    image: null,
    statedCost: null,
    failedAttempts: [],
    refusal: null,
  })

  return {
    noteClaim({ at, hold }: Claim): void {
      queuedMs = at - arrivedAt
      held = hold
    },

    noteFirstEvent(meter: Meter): void {
      if (firstEventMs === null && meter.produced) firstEventMs = house.clock.now() - arrivedAt
    },

    /** Notes the refusal and throws it; nothing was taken. */
    async refuse(thrown: unknown, quota: QuotaReading | null): Promise<never> {
      const error = toGatewayError(thrown)
      house.store.activity.note({ ...entry('refused', error), refusal: toTold(error, held) })
      throw new RequestRefused(
        error,
        quota ??
          (await house.store.admissions.quota(key.id, house.clock.now()).catch(() => NO_QUOTA)),
        generationId,
      )
    },

    settle(
      outcome: Outcome,
      { current, failed }: Attempts,
      charge: Charge | null,
    ): Promise<boolean> {
      const { offer, meter } = current
      const { hop, version } = offer
      // Pictures may be charged that never came, to a client that did not wait for them.
      const hasPicture =
        version.prices.imagePrices.length > 0 && (charge?.usage.outputImages ?? 0) > 0
      const activity: ActivityEntry = {
        ...entry(outcome.endedBy, outcome.error),
        model: hop.card.id,
        provider: hop.provider.name,
        finishReason: outcome.error ? 'error' : meter.finishReason,
        ...(charge && {
          usage: charge.usage,
          usageSource: charge.source,
          cost: charge.amount,
          costRub: charge.costRub,
          image: hasPicture ? pictureOf(current) : null,
        }),
        statedCost: meter.statedCost,
        failedAttempts: failed,
      }
      return house.store.admissions.settle(generationId, {
        at: house.clock.now(),
        charge,
        activity,
      })
    },
  }
}

/** An allow-list may have tens of kilobytes, and a refusal may come a thousand times a second. */
const MOST_TOLD_CHARS = 1_000

const cut = (text: string): string =>
  text.length > MOST_TOLD_CHARS ? `${text.slice(0, MOST_TOLD_CHARS - 1)}…` : text

function toTold({ message, details }: GatewayError, hold: UsdNanos | null): ToldRefusal {
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

/** nginx's word for a client that left before it was answered; it appears in the log alone. */
const CLIENT_CLOSED_REQUEST = 499
