/** A request in progress: its caller, what has arrived so far, and its cost so far. */
import type { Instant } from '../clock.ts'
import type { GenerationId } from '../id.ts'
import type { ApiKey } from '../key.ts'
import { NO_MONEY, type UsdNanos } from '../money.ts'
import { completionTokens, promptTokens } from '../usage.ts'
import { priceOf } from '../walk/attempt.ts'
import type { Walk } from '../walk/walk.ts'
import type { Dialect } from '../work.ts'

/**
 * `queued`: for money that others hold, before its admission; `streaming`: content is being streamed; `waiting`: for a non-streamed answer; `image`: for an image; `opening`: a stream
 * without content yet; `retrying`: the same after a failed attempt; `elsewhere`: of another node, which alone knows what has arrived.
 */
export type InFlightState =
  | 'queued'
  | 'streaming'
  | 'waiting'
  | 'image'
  | 'opening'
  | 'retrying'
  | 'elsewhere'

/** What only its node knows is null of another's. */
export interface InFlight {
  /** Null where one process has the store. */
  readonly node: string | null
  readonly generationId: GenerationId
  readonly requestId: string
  readonly key: ApiKey
  /** Model and provider of the current hop; no provider before the request is admitted. */
  readonly model: string
  readonly provider: string | null
  readonly endUser: string | null
  readonly surface: Dialect
  readonly session: string | null
  readonly stream: boolean | null
  readonly state: InFlightState
  readonly arrivedAt: Instant
  /** Null before the first content. */
  readonly firstEventMs: number | null
  /** Estimates, until the provider has counted. */
  readonly promptTokens: number | null
  readonly outputTokens: number | null
  readonly cost: UsdNanos | null
  /** Failed attempts before the current one. */
  readonly failedAttempts: number | null
}

/** Null before the walk claims anything. */
export function readInFlight(walk: Walk): InFlight | null {
  const { caller, request, generationId, claim, attempt } = walk
  if (claim === null) return null
  const of = {
    node: null,
    generationId,
    requestId: caller.requestId,
    key: caller.key,
    endUser: request.endUser,
    surface: request.dialect,
    session: request.session ?? null,
    stream: request.stream,
    arrivedAt: caller.arrivedAt,
  }
  if (attempt === null) return { ...of, ...QUEUED, model: claim.model }
  const { hop, meter } = attempt
  // An image counts as soon as it is requested, because a client that disconnects now is charged for it.
  const reading = request.wantsImages ? meter.readAfterDisconnect() : meter.read()
  const { usage, amount } = priceOf(attempt, reading)
  return {
    ...of,
    model: hop.card.id,
    provider: hop.provider.name,
    state: stateOf(walk),
    firstEventMs: walk.firstEventMs,
    promptTokens: promptTokens(usage),
    outputTokens: completionTokens(usage),
    cost: amount,
    failedAttempts: walk.failedAttempts.length,
  }
}

const QUEUED = {
  provider: null,
  state: 'queued',
  firstEventMs: null,
  promptTokens: 0,
  outputTokens: 0,
  cost: NO_MONEY,
  failedAttempts: 0,
} as const

function stateOf({ request, firstEventMs, failedAttempts }: Walk): InFlightState {
  if (request.wantsImages) return 'image'
  if (firstEventMs !== null) return request.stream ? 'streaming' : 'waiting'
  if (failedAttempts.length > 0) return 'retrying'
  return request.stream ? 'opening' : 'waiting'
}
