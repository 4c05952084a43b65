/** The walk of one request, from its card to its receipt, read from top to bottom. Whole answers are the same walk, folded. */
import type { ActivityEntry, EndedBy } from './activity.ts'
import { type Claim, toRefusalError } from './admission.ts'
import { allows } from './allow-list.ts'
import type { AnswerHead, ChatEvents, ChatRequest } from './chat.ts'
import { type Clock, type Instant, unixSeconds } from './clock.ts'
import { GatewayError, toGatewayError } from './errors.ts'
import { type GenerationId, newGenerationId } from './id.ts'
import type { ApiKey } from './key.ts'
import type { Charge } from './ledger.ts'
import { type Meter, startMeter } from './meter.ts'
import type { ModelCard, PriceVersion } from './model-card.ts'
import { NO_MONEY, type RubMicros } from './money.ts'
import { chargeFor, holdFor } from './pricing.ts'
import type { Provider } from './provider.ts'
import { NO_QUOTA, type QuotaReading } from './quota.ts'
import type { Rate } from './rate.ts'
import type { Hop } from './route.ts'
import type { Settings } from './settings.ts'
import type { Store } from './store.ts'
import { toClientError, type Upstream, UpstreamFailure } from './upstream.ts'
import { NO_USAGE } from './usage.ts'

/** What the walk needs of the house. */
export interface CompletionHouse {
  readonly clock: Clock
  readonly store: Pick<Store, 'admissions' | 'models' | 'providers' | 'rates' | 'activity'>
  readonly settings: Settings
  upstreamFor(provider: Provider): Promise<Upstream>
}

/** Who asks. */
export interface Caller {
  readonly key: ApiKey
  readonly requestId: string
  /** When the request arrived. */
  readonly arrivedAt: Instant
}

/** What the counter learns, in this order: `admitted`, `opened`, `events`…, `failed`?, `receipt`. */
export type CompletionStep =
  | { readonly type: 'admitted'; readonly generationId: GenerationId; readonly quota: QuotaReading }
  | { readonly type: 'opened'; readonly head: AnswerHead }
  | { readonly type: 'events'; readonly events: ChatEvents }
  /** The upstream broke after content had passed; what came is charged. */
  | { readonly type: 'failed'; readonly error: GatewayError }
  /** The charge is committed: the answer's last byte may leave. */
  | { readonly type: 'receipt'; readonly charge: Charge }

/** A refusal that knows the rate headers to travel with. */
export class RequestRefused extends Error {
  readonly error: GatewayError
  readonly quota: QuotaReading

  constructor(error: GatewayError, quota: QuotaReading) {
    super(error.message, { cause: error })
    this.name = 'RequestRefused'
    this.error = error
    this.quota = quota
  }
}

interface Offer {
  readonly hop: Hop
  readonly version: PriceVersion
  readonly rate: Rate
}

/**
 * Answers one chat request. The first step throws `RequestRefused` when nothing was taken; a later one throws
 * `GatewayError` when the upstream failed before any content. However the walk ends, also by `return()`, its admission is
 * resolved exactly once.
 */
export async function* complete(
  house: CompletionHouse,
  caller: Caller,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<CompletionStep, void> {
  const generationId = newGenerationId(caller.arrivedAt)
  const ending = startEnding(house, caller, request, generationId)

  const offer = await findOffer(house, caller, request).catch((thrown) =>
    ending.refuse(thrown, null),
  )
  const claim = toClaim(house, caller, request, generationId, offer)
  const verdict = await house.store.admissions
    .admit(claim)
    .catch((thrown) => ending.refuse(thrown, null))
  if (!verdict.admitted) {
    return ending.refuse(toRefusalError(verdict.refusal, caller.key.name), verdict.quota)
  }

  const meter = startMeter(request, offer.hop.card.contextLength)
  // However the walk ends, the provider is let go: a consumer that stops before the first event never touches `events`.
  const line = follow(signal)
  let outcome: Outcome = { endedBy: 'client', sent: false, error: null }
  let charge: Charge | null = null
  try {
    yield { type: 'admitted', generationId, quota: verdict.quota }
    const upstream = await house.upstreamFor(offer.hop.provider)
    signal.throwIfAborted()
    outcome = { ...outcome, sent: true }
    const events = await upstream.open({
      request,
      hop: offer.hop,
      requestId: caller.requestId,
      timeouts: house.settings,
      signal: line.signal,
    })
    yield { type: 'opened', head: toHead(generationId, caller, offer.hop) }
    for await (const batch of events) {
      meter.note(batch)
      ending.noteFirstEvent(meter)
      yield { type: 'events', events: batch }
    }
    // A provider's end of stream may only be the echo of our own leaving.
    if (meter.finishReason === null) signal.throwIfAborted()
    demandImages(request, meter)
    outcome = { endedBy: 'completed', sent: true, error: null }
  } catch (thrown) {
    outcome = judgeFailure(thrown, offer.hop, signal, outcome.sent)
  } finally {
    if (outcome.endedBy !== 'completed') line.abort()
    charge = priceOutcome(outcome, meter, offer, request)
    await ending.settle(outcome, meter, offer.hop, charge)
  }
  if (outcome.error) {
    if (charge === null) throw outcome.error
    yield { type: 'failed', error: outcome.error }
  }
  if (charge !== null) yield { type: 'receipt', charge }
}

/** A controller that aborts with `signal`, and can be aborted by itself. (`AbortSignal.any` costs six times as much.) */
function follow(signal: AbortSignal): AbortController {
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
  return controller
}

interface Outcome {
  readonly endedBy: EndedBy
  /** Whether the provider was asked at all. */
  readonly sent: boolean
  readonly error: GatewayError | null
}

/** Card, allow-list, modality and price, in the order of contract §2. */
async function findOffer(
  { store, clock }: CompletionHouse,
  { key }: Caller,
  request: ChatRequest,
): Promise<Offer> {
  if (!allows(key.limits.allowedModels, request.model)) throw modelNotAllowed(key, request.model)
  const card = await store.models.find(request.model)
  if (!card) throw modelNotFound(request.model)
  checkModality(request, card)
  const provider = await store.providers.find(card.provider)
  if (!provider) {
    throw new GatewayError('no_route_available', `no provider serves ${card.id} at the moment`)
  }
  if (card.price === null) throw unpriced(card)
  return { hop: { card, provider }, version: card.price, rate: await store.rates.at(clock.now()) }
}

export function modelNotAllowed(key: ApiKey, model: string): GatewayError {
  const allowed = (key.limits.allowedModels ?? []).join(', ')
  return new GatewayError(
    'model_not_allowed',
    `key ${key.name} may not call ${model}; it is allowed: ${allowed || 'no model'}`,
    {
      param: 'model',
      metadata: { limit: 'allowed_models', limit_value: allowed, used: model, resets_at: null },
    },
  )
}

export const modelNotFound = (model: string): GatewayError =>
  new GatewayError(
    'model_not_found',
    `there is no model ${model} here; GET /v1/models lists them`,
    {
      param: 'model',
    },
  )

const unpriced = (card: ModelCard): GatewayError =>
  new GatewayError(
    'unpriced_model',
    `${card.id} has no price yet, and nothing is served for free by accident`,
    {
      param: 'model',
      hint: `gatewayctl models price ${card.id} --in-usd X --out-usd X`,
    },
  )

/** Streaming an image and images from a model that draws none are refused (spec §4.2, §7). */
function checkModality(request: ChatRequest, card: ModelCard): void {
  if (request.wantsImages && request.stream) {
    throw new GatewayError(
      'image_streaming_not_supported',
      'an image arrives whole: leave out "stream", or take "image" out of "modalities"',
      { param: 'stream' },
    )
  }
  if (request.wantsImages && !card.outputModalities.includes('image')) {
    throw new GatewayError('unsupported_modality', `${card.id} does not draw images`, {
      param: 'modalities',
    })
  }
  if (!request.wantsImages && !card.outputModalities.includes('text')) {
    throw new GatewayError(
      'unsupported_modality',
      `${card.id} only draws: ask it with "modalities": ["image"]`,
      {
        param: 'modalities',
      },
    )
  }
  if (request.inputImages > 0 && !card.inputModalities.includes('image')) {
    throw new GatewayError('unsupported_modality', `${card.id} does not take images`, {
      param: 'messages',
    })
  }
}

function toClaim(
  { clock, settings }: CompletionHouse,
  { key, requestId }: Caller,
  request: ChatRequest,
  generationId: GenerationId,
  { hop, version }: Offer,
): Claim {
  return {
    generationId,
    requestId,
    keyId: key.id,
    accountId: key.accountId,
    at: clock.now(),
    model: hop.card.id,
    hold: holdFor(request, hop.card, version, settings.reserveOutputTokens),
  }
}

const toHead = (id: GenerationId, caller: Caller, { card, provider }: Hop): AnswerHead => ({
  id,
  createdUnixSeconds: unixSeconds(caller.arrivedAt),
  model: card.id,
  provider: provider.name,
})

function demandImages(request: ChatRequest, meter: Meter): void {
  if (request.wantsImages && meter.images === 0) {
    throw new UpstreamFailure('no-image', 'the answer holds no image')
  }
}

function judgeFailure(thrown: unknown, hop: Hop, signal: AbortSignal, sent: boolean): Outcome {
  if (signal.aborted) {
    // The gateway aborts with its own error when a drain has run out of time; a client leaves without one.
    const stopped = signal.reason instanceof GatewayError
    return stopped
      ? { endedBy: 'gateway', sent, error: signal.reason }
      : { endedBy: 'client', sent, error: null }
  }
  if (thrown instanceof UpstreamFailure) {
    return { endedBy: 'upstream', sent, error: toClientError(thrown, hop.provider.name) }
  }
  return { endedBy: 'gateway', sent, error: toGatewayError(thrown) }
}

/**
 * Completed, or broken off after something came: what came. Left by the client: what came, and never nothing once the
 * provider was asked. Failed before anything came, or without the image asked for: nothing.
 */
function priceOutcome(
  outcome: Outcome,
  meter: Meter,
  offer: Offer,
  request: ChatRequest,
): Charge | null {
  const chargeable =
    outcome.endedBy === 'completed' ||
    (outcome.endedBy === 'client'
      ? outcome.sent
      : meter.produced && outcome.error?.code !== 'no_image_returned')
  if (!chargeable) return null
  const { usage, source } = meter.read()
  return chargeFor(usage, offer.version, offer.rate.rubPerUsd, source, request.image)
}

/** The bookkeeping around one walk: the clock readings and the one line of the activity log. */
function startEnding(
  house: CompletionHouse,
  { key, requestId, arrivedAt }: Caller,
  request: ChatRequest,
  generationId: GenerationId,
) {
  let firstEventMs: number | null = null

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
    firstEventMs,
    totalMs: house.clock.now() - arrivedAt,
    usage: NO_USAGE,
    usageSource: null,
    cost: NO_MONEY,
    costRub: 0n as RubMicros,
  })

  return {
    noteFirstEvent(meter: Meter): void {
      if (firstEventMs === null && meter.produced) firstEventMs = house.clock.now() - arrivedAt
    },

    /** Notes the refusal and throws it; nothing was taken. */
    async refuse(thrown: unknown, quota: QuotaReading | null): Promise<never> {
      const error = toGatewayError(thrown)
      house.store.activity.note(entry('refused', error))
      throw new RequestRefused(
        error,
        quota ??
          (await house.store.admissions.quota(key.id, house.clock.now()).catch(() => NO_QUOTA)),
      )
    },

    async settle(outcome: Outcome, meter: Meter, hop: Hop, charge: Charge | null): Promise<void> {
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
        }),
      }
      await house.store.admissions.settle(generationId, {
        at: house.clock.now(),
        charge,
        activity,
      })
    },
  }
}

/** nginx's word for a client that left before it was answered; it appears in the log alone. */
const CLIENT_CLOSED_REQUEST = 499
