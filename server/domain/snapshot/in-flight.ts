/** A request in progress, read while it runs: who asks, what has come so far, and what that would cost. */
import { type Attempts, pictureOf } from '../attempt.ts'
import type { Caller } from '../caller.ts'
import type { ChatRequest } from '../chat.ts'
import type { Instant } from '../clock.ts'
import type { GenerationId } from '../id.ts'
import type { ApiKey } from '../key.ts'
import type { UsdNanos } from '../money.ts'
import { chargeFor } from '../pricing.ts'
import { completionTokens, promptTokens } from '../usage.ts'

/**
 * `streaming`: content is passing; `waiting`: for a whole answer; `image`: for a picture; `opening`: a stream of which
 * nothing has come; `retrying`: the same after an attempt that failed.
 */
export type InFlightState = 'streaming' | 'waiting' | 'image' | 'opening' | 'retrying'

export interface InFlight {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly key: ApiKey
  /** Of the hop that is being asked. */
  readonly model: string
  readonly provider: string
  readonly endUser: string | null
  readonly stream: boolean
  readonly state: InFlightState
  readonly arrivedAt: Instant
  /** Null while no content has come. */
  readonly firstEventMs: number | null
  /** Estimates, until the provider has counted. */
  readonly promptTokens: number
  readonly outputTokens: number
  readonly cost: UsdNanos
  /** So many hops have failed before the one that is asked now. */
  readonly failedAttempts: number
}

/** An admitted walk, as a reader outside of it sees it. */
export interface WalkProgress {
  readonly caller: Caller
  readonly request: ChatRequest
  readonly generationId: GenerationId
  readonly attempts: Attempts
  readonly firstEventAt: Instant | null
}

export function readInFlight(walk: WalkProgress): InFlight {
  const { caller, request, generationId, attempts, firstEventAt } = walk
  const { current, failed } = attempts
  const { offer, meter } = current
  // A picture counts from the moment that it is asked for: whoever leaves now pays for it.
  const { usage, source } = request.wantsImages ? meter.readLeft() : meter.read()
  const { amount } = chargeFor(
    usage,
    offer.version,
    offer.rate.rubPerUsd,
    source,
    pictureOf(current),
  )
  return {
    generationId,
    requestId: caller.requestId,
    key: caller.key,
    model: offer.hop.card.id,
    provider: offer.hop.provider.name,
    endUser: request.endUser,
    stream: request.stream,
    state: stateOf(walk),
    arrivedAt: caller.arrivedAt,
    firstEventMs: firstEventAt === null ? null : firstEventAt - caller.arrivedAt,
    promptTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    cost: amount,
    failedAttempts: failed.length,
  }
}

function stateOf({ request, attempts, firstEventAt }: WalkProgress): InFlightState {
  if (request.wantsImages) return 'image'
  if (firstEventAt !== null) return request.stream ? 'streaming' : 'waiting'
  if (attempts.failed.length > 0) return 'retrying'
  return request.stream ? 'opening' : 'waiting'
}
