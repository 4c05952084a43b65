/** An attempt: one hop being asked. Another may follow only as long as nothing of an answer has come (contract §7). */

import type { Caller } from './caller.ts'
import type { ChatEvent, ChatEvents, ChatRequest } from './chat.ts'
import { type Meter, startMeter } from './meter.ts'
import type { Offer, Offers } from './offer.ts'
import type { Provider } from './provider.ts'
import type { Settings } from './settings.ts'
import { type Upstream, UpstreamFailure } from './upstream.ts'

export interface Attempt {
  readonly offer: Offer
  readonly meter: Meter
  /** Aborts with the request, and by itself when this hop is given up. */
  readonly line: AbortController
  /** Whether the provider has been asked. */
  isSent: boolean
}

interface Switchboard {
  readonly settings: Settings
  upstreamFor(provider: Provider): Promise<Upstream>
}

export const startAttempt = (offer: Offer, request: ChatRequest, signal: AbortSignal): Attempt => ({
  offer,
  meter: startMeter(request, offer.hop.card.contextLength),
  line: follow(signal),
  isSent: false,
})

/** A controller that aborts with `signal`, and can be aborted by itself. (`AbortSignal.any` costs six times as much.) */
function follow(signal: AbortSignal): AbortController {
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true })
  return controller
}

/** Asks one offer after the other until one begins to answer. @throws what the last of them threw */
export async function openFirst(
  offers: Offers,
  ask: (offer: Offer, isLast: boolean) => Promise<AsyncIterable<ChatEvents>>,
): Promise<AsyncIterable<ChatEvents>> {
  for (const offer of offers.slice(0, -1)) {
    try {
      return await ask(offer, false)
    } catch (thrown) {
      // Only a provider's failure is worth another provider; a client that left needs none.
      if (!(thrown instanceof UpstreamFailure)) throw thrown
    }
  }
  return await ask(offers[offers.length - 1] as Offer, true)
}

/**
 * Opens the upstream of an attempt. One that another may follow is held until content has come, so that a failure before
 * it is still nobody's answer; the last one streams at once. @throws UpstreamFailure, the signal's reason
 */
export async function open(
  { settings, upstreamFor }: Switchboard,
  { requestId }: Caller,
  request: ChatRequest,
  attempt: Attempt,
  isLast: boolean,
): Promise<AsyncIterable<ChatEvents>> {
  const { offer, line } = attempt
  const upstream = await upstreamFor(offer.hop.provider)
  line.signal.throwIfAborted()
  attempt.isSent = true
  try {
    const events = await upstream.open({
      request,
      hop: offer.hop,
      requestId,
      timeouts: settings,
      signal: line.signal,
    })
    return isLast ? events : await holdUntilContent(events, request)
  } catch (thrown) {
    line.signal.throwIfAborted()
    line.abort()
    throw thrown
  }
}

async function holdUntilContent(
  events: AsyncIterable<ChatEvents>,
  request: ChatRequest,
): Promise<AsyncIterable<ChatEvents>> {
  const iterator = events[Symbol.asyncIterator]()
  const held: ChatEvents[] = []
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) throw noContent(request)
    held.push(value)
    if (value.some((event) => isContent(event, request))) return resume(held, iterator)
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

/** A reason to finish is an answer too, if an empty one; to who asked for pictures only a picture is. */
const isContent = ({ type }: ChatEvent, { wantsImages }: ChatRequest): boolean =>
  wantsImages ? type === 'image' : type !== 'usage' && type !== 'answer-fields'

const noContent = ({ wantsImages }: ChatRequest): UpstreamFailure =>
  wantsImages ? noImage() : new UpstreamFailure('failed', 'it answered with nothing')

const noImage = (): UpstreamFailure => new UpstreamFailure('no-image', 'the answer holds no image')

/** @throws UpstreamFailure when pictures were asked for and none came */
export function demandImages(request: ChatRequest, meter: Meter): void {
  if (request.wantsImages && meter.images === 0) throw noImage()
}
