/** A request in progress: its caller, what has arrived so far, and its cost so far. */

import type { Instant } from '../clock.ts'
import type { GenerationId } from '../id.ts'
import type { ApiKey } from '../key.ts'
import type { UsdNanos } from '../money.ts'
import { chargeFor } from '../pricing.ts'
import { completionTokens, promptTokens } from '../usage.ts'
import { imageOf } from '../walk/attempt.ts'
import type { Walk } from '../walk/walk.ts'

/**
 * `streaming`: content is being streamed; `waiting`: for a non-streamed answer; `image`: for an image; `opening`: a stream
 * without content yet; `retrying`: the same after a failed attempt.
 */
export type InFlightState = 'streaming' | 'waiting' | 'image' | 'opening' | 'retrying'

export interface InFlight {
  readonly generationId: GenerationId
  readonly requestId: string
  readonly key: ApiKey
  /** Model and provider of the current hop. */
  readonly model: string
  readonly provider: string
  readonly endUser: string | null
  readonly stream: boolean
  readonly state: InFlightState
  readonly arrivedAt: Instant
  /** Null before the first content. */
  readonly firstEventMs: number | null
  /** Estimates, until the provider has counted. */
  readonly promptTokens: number
  readonly outputTokens: number
  readonly cost: UsdNanos
  /** Failed attempts before the current one. */
  readonly failedAttempts: number
}

/** Null before the walk is admitted. */
export function readInFlight(walk: Walk): InFlight | null {
  const { caller, request, generationId, attempts, firstEventAt } = walk
  if (attempts === null) return null
  const { current, failed } = attempts
  const { offer, meter } = current
  // An image counts as soon as it is requested, because a client that disconnects now is charged for it.
  const { usage, source } = request.wantsImages ? meter.readAfterDisconnect() : meter.read()
  const { amount } = chargeFor(usage, offer.version, offer.rate.rubPerUsd, source, imageOf(current))
  return {
    generationId,
    requestId: caller.requestId,
    key: caller.key,
    model: offer.hop.card.id,
    provider: offer.hop.provider.name,
    endUser: request.endUser,
    stream: request.stream,
    state: stateOf(walk, failed.length > 0),
    arrivedAt: caller.arrivedAt,
    firstEventMs: firstEventAt === null ? null : firstEventAt - caller.arrivedAt,
    promptTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    cost: amount,
    failedAttempts: failed.length,
  }
}

function stateOf({ request, firstEventAt }: Walk, hasFailed: boolean): InFlightState {
  if (request.wantsImages) return 'image'
  if (firstEventAt !== null) return request.stream ? 'streaming' : 'waiting'
  if (hasFailed) return 'retrying'
  return request.stream ? 'opening' : 'waiting'
}
