/** An attempt: one request sent to one hop. Another may follow only while no content of an answer has arrived (contract §7). */
import type { FailedAttempt } from '../activity.ts'
import type { Grant } from '../admission.ts'
import { Canceller, type CancelSignal } from '../cancel.ts'
import type { ChatEvent, ChatEvents } from '../chat.ts'
import { type Clock, pause, sinceArrivalMs } from '../clock.ts'
import { chargedModifiers, NO_MODIFIERS } from '../extras.ts'
import { isSameHop } from '../hop.ts'
import type { Caller } from '../key.ts'
import type { Charge } from '../ledger.ts'
import type { ImageChoice } from '../model-card.ts'
import { NO_MONEY, subtractUsd, type UsdNanos } from '../money.ts'
import { boundFor, boundToSend } from '../offer-cost.ts'
import { chargedImage, chargeFor } from '../pricing.ts'
import type { Provider } from '../provider.ts'
import type { Settings } from '../settings.ts'
import { type Upstream, type UpstreamCall, UpstreamFailure } from '../upstream.ts'
import type { Work } from '../work.ts'
import { type HopHealth, isOfCredential } from './hop-health.ts'
import { Meter, type Reading } from './meter.ts'
import type { CostedOffer, CostedOffers, Offer } from './offer.ts'

/** It is what the provider is asked with, too. */
export interface Attempt extends UpstreamCall {
  readonly offer: Offer
  /** Output tokens of all choices that are paid for. */
  readonly paidTokens: number
  /** The bound that is sent, where it is lower than the client's own or the model's; else null. */
  readonly loweredBound: number | null
  readonly meter: Meter
  /** When the attempt began, by `Clock.monotonicMs`; a pause before a retry is not included. */
  startedMs: number
  timeouts: UpstreamCall['timeouts']
  /** Aborted when the request is aborted, or when only this attempt is given up. */
  readonly signal: Canceller
  /** Whether it decides if a resting hop serves again. */
  isProbe: boolean
}

/** What is attempted: a walk that is admitted. */
export interface Attempted {
  readonly deps: AttemptDeps
  readonly caller: Caller
  readonly request: Work
  readonly signal: CancelSignal
  /** Those asked, then those still to ask, as `awakeFirst` puts them. */
  offers: CostedOffers
  readonly grant: Grant
  /** The one being made, or the last. */
  attempt: Attempt
  /** In order. */
  failedAttempts: readonly FailedAttempt[]
}

export interface AttemptDeps {
  readonly clock: Clock
  readonly settings: Settings
  readonly health: HopHealth
  /** `credential` is its name, where the provider has several. */
  upstreamFor(provider: Provider, credential: string | null): Upstream
}

/** An attempt at an offer, within the bound that the granted money pays for there. */
export function startAttempt(
  {
    deps: { settings },
    caller,
    signal,
    grant,
  }: Pick<Attempted, 'deps' | 'caller' | 'signal' | 'grant'>,
  offer: CostedOffer,
): Attempt {
  const { hop, version, sent, cost } = offer
  const bound = boundFor(cost, grant.money)
  const paidTokens = bound * cost.choices
  const told = boundToSend(sent, hop, bound, settings)
  return {
    request: sent,
    offer,
    hop,
    requestId: caller.requestId,
    maxOutputTokens: told.sent,
    paidTokens,
    loweredBound: told.lowered,
    meter: new Meter(sent, hop.card, paidTokens, version.prices),
    startedMs: 0,
    timeouts: settings,
    signal: new Canceller(signal),
    sending: { isSent: false },
    isProbe: false,
  }
}

/** Writes what the provider of an offer would be asked with, and sends nothing. @throws UpstreamFailure */
export async function askDry(
  walk: Parameters<typeof startAttempt>[0],
  offer: CostedOffer,
): Promise<void> {
  const { provider, credential } = offer.hop
  const attempt = startAttempt(walk, offer)
  await walk.deps.upstreamFor(provider, credential).ask({ ...attempt, isDry: true })
}

/**
 * Tries the offers in order until one begins to answer, and retries the last one where that may help.
 * `walk.attempt` is the attempt that answers, or the last that failed. @throws UpstreamFailure, the signal's reason
 */
export async function askFirst(walk: Attempted): Promise<AsyncIterable<ChatEvents>> {
  if (awakeFirst(walk, 0)) walk.attempt = startAttempt(walk, walk.offers[0])
  for (let turn = 1; ; turn++) {
    try {
      return await ask(walk, turn >= walk.offers.length)
    } catch (thrown) {
      const next = turnAfter(walk, turn, thrown)
      noteFailure(walk, next.failure, false)
      walk.attempt = startAttempt(walk, next.offer)
      if (next.pauseMs > 0) await pause(next.pauseMs, walk.signal)
    }
  }
}

/**
 * Puts hops that rest by now behind the others, of the offers after the first `asked`: one that is probed by another request
 * since this one was admitted is not asked beside it. True if that changed their order.
 */
function awakeFirst(walk: Attempted, asked: number): boolean {
  const { deps, offers } = walk
  const left = asked === 0 ? offers : offers.slice(asked)
  const arranged = deps.health.arrange(left)
  if (arranged === left) return false
  walk.offers = [...offers.slice(0, asked), ...arranged] as unknown as CostedOffers
  return true
}

/** A hop that failed by no fault of its credential is not asked with another. */
function dropSiblings(walk: Attempted, asked: number): void {
  const { hop } = walk.attempt
  if (hop.credential === null) return
  const left = walk.offers.slice(asked).filter((offer) => !isSameHop(offer.hop, hop))
  walk.offers = [...walk.offers.slice(0, asked), ...left] as unknown as CostedOffers
}

/** What follows a failed attempt, which is ended. @throws why it failed, where nothing follows */
function turnAfter(
  walk: Attempted,
  turn: number,
  thrown: unknown,
): Turn & { readonly failure: UpstreamFailure } {
  const { deps, caller, request, signal, attempt } = walk
  attempt.signal.throwIfAborted()
  attempt.signal.abort()
  // Only a provider's failure justifies another attempt, and only while the client is connected.
  if (!(thrown instanceof UpstreamFailure) || signal.aborted) throw thrown
  if (!isOfCredential(attempt.hop, thrown)) dropSiblings(walk, turn)
  awakeFirst(walk, turn)
  const next = isOutOfTime(deps, caller) ? null : nextTurn(walk.offers, turn, thrown, request)
  if (next === null) throw thrown
  return { ...next, failure: thrown }
}

interface Turn {
  readonly offer: CostedOffer
  readonly pauseMs: number
}

/** The offer to try after `turn` failed attempts: the next one, or a retry of the last. */
function nextTurn(
  offers: CostedOffers,
  turn: number,
  failure: UpstreamFailure,
  request: Work,
): Turn | null {
  const next = offers[turn]
  if (next) return { offer: next, pauseMs: 0 }
  const last = offers[offers.length - 1]
  const pauseMs = turn === offers.length ? pauseBeforeRetryMs(failure, request) : null
  return last && pauseMs !== null ? { offer: last, pauseMs } : null
}

const isOutOfTime = ({ clock, settings }: AttemptDeps, caller: Caller): boolean =>
  sinceArrivalMs(clock, caller) >= settings.totalTimeoutMs

/** Records that the attempt failed, and closes its exchange with the provider. */
export function noteFailure(walk: Attempted, failure: UpstreamFailure, isCharged: boolean): void {
  const { deps, attempt, failedAttempts } = walk
  const { hop, meter, startedMs, signal } = attempt
  signal.abort()
  deps.health.failed(hop, failure)
  const failed: FailedAttempt = {
    model: hop.card.id,
    provider: hop.provider.name,
    ...(hop.credential !== null && { credential: hop.credential }),
    outcome: failure.kind,
    status: failure.details.status ?? null,
    reason: failure.message,
    ms: deps.clock.monotonicMs() - startedMs,
    operatorCost: meter.produced && !isCharged ? costOf(attempt) : NO_MONEY,
  }
  walk.failedAttempts = [...failedAttempts, failed]
}

/** The cost of what an uncharged attempt produced, at the model's price. */
function costOf(attempt: Attempt): UsdNanos {
  const { meter } = attempt
  const { usage, source } = meter.read()
  return priceOf(attempt, { usage: meter.readUncharged() ?? usage, source }).amount
}

/** The cost of what the provider bills beyond what is charged, at the model's price. */
export function unchargedCost(attempt: Attempt, charge: Charge): UsdNanos {
  const usage = attempt.meter.readUncharged(charge.usage)
  if (usage === null) return NO_MONEY
  const whole = priceOf(attempt, { usage, source: charge.source })
  return subtractUsd(whole.amount, charge.amount)
}

/**
 * Whether what has surely been produced costs more than is held (contract §8): the provider ignores its bound. False once
 * the answer has finished, because only its count is still to come.
 */
export function isBeyondHold(attempt: Attempt, hold: UsdNanos): boolean {
  const { meter, paidTokens } = attempt
  if (meter.sureOutputTokens <= paidTokens || meter.isFinished) return false
  return priceOf(attempt, { usage: meter.readSurely(), source: 'estimated' }).amount > hold
}

/**
 * What a reading of its meter costs, with the factors that apply, at the price that it was admitted by: a hold and its charge
 * are of one price, whatever changes meanwhile. In line, the price is that of each judgement (`admission-queue.ts`).
 */
export function priceOf(attempt: Attempt, { usage, source }: Reading): Charge {
  const { request, offer, meter } = attempt
  const { version, rate } = offer
  const { extras } = request
  const modifiers =
    extras === undefined ? NO_MODIFIERS : chargedModifiers(extras, version.prices, meter.served)
  return chargeFor(usage, version, rate.rubPerUsd, source, imageOf(attempt), modifiers)
}

/** The image size and quality to price: those generated where they are known, else those requested. */
export const imageOf = ({ request, offer, meter }: Attempt): ImageChoice =>
  chargedImage(offer.version.prices.imagePrices, request.image, meter.drawn)

/**
 * Asks the upstream of an attempt. While another offer may follow, events are buffered until content arrives, so that an
 * earlier failure can fall back to that offer. The last offer streams at once, so that it fails for good once its status was success.
 * What is sent twice below this (a lost idle connection, a respelled bound) is one attempt: `server/upstream/call.ts`.
 */
function ask(walk: Attempted, isLast: boolean): Promise<AsyncIterable<ChatEvents>> {
  const { deps, caller, attempt } = walk
  const { hop, meter, request } = attempt
  attempt.signal.throwIfAborted()
  attempt.startedMs = deps.clock.monotonicMs()
  attempt.timeouts = timeoutsAfter(attempt.startedMs - caller.arrivedMs, deps.settings)
  attempt.isProbe = deps.health.attempted(hop)
  const events = deps.upstreamFor(hop.provider, hop.credential).ask(attempt)
  return isLast ? events : bufferUntilContent(events, request, meter)
}

/** All attempts of a request share one total time-out, of which this much is spent. */
const timeoutsAfter = (spentMs: number, settings: Settings): UpstreamCall['timeouts'] =>
  spentMs > 0
    ? { ...settings, totalTimeoutMs: Math.max(1, settings.totalTimeoutMs - spentMs) }
    : settings

/** The buffered events come first in the result. @throws UpstreamFailure if the answer ends without content */
async function bufferUntilContent(
  opening: Promise<AsyncIterable<ChatEvents>>,
  request: Work,
  meter: Meter,
): Promise<AsyncIterable<ChatEvents>> {
  const iterator = (await opening)[Symbol.asyncIterator]()
  const held: ChatEvents[] = []
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) throw noContent(request)
      held.push(value)
      if (value.some((event) => isContent(event, request))) return resume(held, iterator)
    }
  } catch (thrown) {
    // Discarded, but counted, because the provider may bill the operator for it.
    for (const batch of held) meter.note(batch)
    throw thrown
  }
}

async function* resume(
  held: readonly ChatEvents[],
  iterator: AsyncIterator<ChatEvents>,
): AsyncGenerator<ChatEvents, void> {
  yield* held
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

/** A finish reason counts as an (empty) answer; where images are requested, only an image does. */
const isContent = ({ type }: ChatEvent, { wantsImages }: Work): boolean =>
  wantsImages ? type === 'image' : !BESIDE_CONTENT.has(type)

/** An image is none where no image is requested: it is not delivered. */
const BESIDE_CONTENT: ReadonlySet<ChatEvent['type']> = new Set([
  'usage',
  'answer-fields',
  'choice-fields',
  'image',
  'native',
])

const noContent = ({ wantsImages }: Work): UpstreamFailure =>
  wantsImages ? noImage() : new UpstreamFailure('failed', 'it answered with nothing')

const noImage = (): UpstreamFailure => new UpstreamFailure('no-image', 'the answer holds no image')

/** @throws UpstreamFailure if images were requested and none arrived */
export function requireImages(request: Work, meter: Meter): void {
  if (request.wantsImages && meter.images === 0) throw noImage()
}

/** Long enough for a load balancer to pick another server, too short to be noticed. */
const PAUSE_MS = 250
/** A longer wait is left to the client, which knows how much time it has. */
const MAX_PAUSE_MS = 2_000

/**
 * The pause before retrying the same hop, which is the last one (asking another is faster): the provider's `Retry-After` if it
 * sent one; null for no retry. A retry follows a failed or briefly overloaded provider. No retry after a time-out, because the
 * client has already waited that long; nor for an image, because the missing one may have been generated and billed; nor where
 * the request allows only one attempt (contract §7).
 */
export function pauseBeforeRetryMs(
  { kind, details }: UpstreamFailure,
  { allowFallbacks, wantsImages }: Work,
): number | null {
  if (!allowFallbacks || wantsImages || details.permanent) return null
  if (kind !== 'failed' && kind !== 'overloaded') return null
  const { retryAfterSeconds } = details
  const pauseMs = retryAfterSeconds === undefined ? PAUSE_MS : retryAfterSeconds * 1_000
  return pauseMs <= MAX_PAUSE_MS ? pauseMs : null
}
