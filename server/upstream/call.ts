/**
 * The call to a provider that all families share: one POST with time-outs, no redirects. What is sent
 * again, because an idle connection was lost or another spelling of a field may pass, is the same attempt.
 */
import type { ChatEvents } from '#domain/chat.ts'
import { noEvents, type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { isConnectionLost } from './failure.ts'
import type { Message, Post, Reply, ReplyHandler } from './reply.ts'
import { readStream, type Translation } from './stream.ts'
import { type Answer, Watchdog } from './watchdog.ts'
import { WholeAnswer, type WholeWire } from './whole-answer.ts'

declare const GATEWAY_VERSION: string

const USER_AGENT = `gatewayctl/${typeof GATEWAY_VERSION === 'undefined' ? 'dev' : GATEWAY_VERSION}`

/** The header fields of every request to a provider, built once: for whole and for streamed answers. */
export interface ProviderHeaders {
  readonly whole: Message['headers']
  readonly stream: Message['headers']
}

/** `auth` holds the operator's credential; no header of the client is ever forwarded. */
export function toHeaders(
  auth: Readonly<Record<string, string>>,
  contentType = 'application/json',
): ProviderHeaders {
  const whole = {
    'content-type': contentType,
    accept: 'application/json',
    // Compression would delay stream events, and a compressed body could inflate without bound.
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...auth,
  }
  return { whole, stream: { ...whole, accept: 'text/event-stream' } }
}

/** A request and the client that posts it. */
export interface Outgoing extends Message {
  readonly post: Post
}

export const toOutgoing = (
  { requestId, request }: UpstreamCall,
  post: Post,
  { whole, stream }: ProviderHeaders,
  body: Message['body'],
): Outgoing => ({ post, headers: request.stream ? stream : whole, requestId, body })

/** How a family speaks one provider's API: builds requests, reads errors and answers. */
export interface Wire extends WholeWire {
  /** @throws UpstreamFailure when this API cannot express the request */
  toOutgoing(call: UpstreamCall): Outgoing | Promise<Outgoing>
  /** The failure for an error status; reads the body and releases the connection. */
  toFailure(answer: Answer): Promise<UpstreamFailure>
  /** How to send a refused request once more, if only the spelling of a field was at fault. Called before any content. */
  respell?(failure: UpstreamFailure, call: UpstreamCall): Respelling | null
  /**
   * Null when the answer is one body. `contentType` decides, because some providers answer a streaming request with one.
   * @throws UpstreamFailure where the client cannot take a stream
   */
  startStream(contentType: string, asked: boolean): Translation | null
}

/** For APIs with one address for both: some providers answer a streaming request with one body, some stream unasked. */
export const isStream = (contentType: string, asked: boolean): boolean =>
  EVENT_STREAM.test(contentType) || (asked && !ONE_BODY.test(contentType))

/** Of an answer that is to pass as it came, and came as it was not asked for: no client takes the other. */
export const misframed = (asked: boolean): UpstreamFailure => {
  const [came, wanted] = asked ? ['one body', 'a stream'] : ['a stream', 'one body']
  return new UpstreamFailure('failed', `it answered with ${came}, and was asked for ${wanted}`)
}

/** What an answer that does not pass has cost. */
export const countsOf = (events: ChatEvents): ChatEvents =>
  events.filter(({ type }) => type === 'usage')

const EVENT_STREAM = /event-stream/i
const ONE_BODY = /json|html/i

export interface Respelling {
  readonly wire: Wire
  /** The provider has taken it. */
  accepted(): void
}

/**
 * Sends a request and resolves to the events of its answer once a success status has arrived.
 * @throws UpstreamFailure; the signal's reason when the client has disconnected
 */
export function performCall(
  wire: Wire,
  call: UpstreamCall,
  isRespelled = false,
): Promise<AsyncIterable<ChatEvents>> {
  try {
    const outgoing = wire.toOutgoing(call)
    if (call.isDry) return Promise.resolve(outgoing).then(noEvents)
    return outgoing instanceof Promise
      ? outgoing.then((late) => new PendingCall(wire, call, late, isRespelled).post())
      : new PendingCall(wire, call, outgoing, isRespelled).post()
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}

/** A class because there is one per request: an `async` function with its awaits costs measurably more. */
class PendingCall implements ReplyHandler {
  private readonly wire: Wire
  private readonly call: UpstreamCall
  private readonly outgoing: Outgoing
  private readonly watchdog: Watchdog
  private readonly events = Promise.withResolvers<AsyncIterable<ChatEvents>>()
  private readonly isRespelled: boolean
  /**
   * Whether it must not be sent again: one for exactly one attempt (contract §7), and one for an image, which might be drawn and
   * billed twice. It gets a new connection, because an idle one may be closing.
   */
  private isFresh: boolean

  constructor(wire: Wire, call: UpstreamCall, outgoing: Outgoing, isRespelled: boolean) {
    this.wire = wire
    this.call = call
    this.outgoing = outgoing
    this.isRespelled = isRespelled
    this.watchdog = new Watchdog(call)
    this.isFresh = !call.request.allowFallbacks || call.request.wantsImages
  }

  post(): Promise<AsyncIterable<ChatEvents>> {
    const { outgoing } = this
    outgoing.post(outgoing, this, this.watchdog, this.isFresh)
    return this.events.promise
  }

  /** The response head has arrived. */
  resolve(reply: Reply): void {
    const { status } = reply
    const { request, sending } = this.call
    if (request.dialect !== 'chat') sending.providerRequestId = readRequestId(reply)
    if (status >= 400) void this.refuse(reply)
    else if (status >= 300) this.reject(redirected(status))
    else this.begin(reply)
  }

  reject(thrown: unknown): void {
    const { isFresh, watchdog } = this
    // A provider may close an idle connection just as a request is sent on it. The request is sent once more, because no
    // byte of an answer had arrived; until then it counts as not sent.
    if (!isFresh && isConnectionLost(thrown) && !watchdog.isAborted) {
      this.isFresh = true
      this.call.sending.isSent = false
      void this.post()
      return
    }
    watchdog.cancel()
    this.events.reject(watchdog.explain(thrown))
  }

  private async refuse(reply: Reply): Promise<void> {
    const { wire, call, watchdog } = this
    try {
      const failure = await wire.toFailure({ reply, watchdog })
      const other = this.isRespelled ? null : (wire.respell?.(failure, call) ?? null)
      if (other === null) return this.events.reject(failure)
      call.signal.throwIfAborted()
      // What was refused is paid by nobody.
      call.sending.isSent = false
      const timeouts = watchdog.timeoutsLeft()
      this.events.resolve(await performCall(other.wire, { ...call, timeouts }, true))
      other.accepted()
    } catch (thrown) {
      this.events.reject(thrown)
    }
  }

  private begin(reply: Reply): void {
    const { wire, call, watchdog, events } = this
    try {
      const contentType = reply.headers.get('content-type') ?? ''
      const translation = wire.startStream(contentType, call.request.stream)
      if (translation === null) events.resolve(new WholeAnswer(wire, call, reply, watchdog))
      else {
        reply.forgetHead?.()
        events.resolve(readStream({ reply, watchdog }, translation))
      }
    } catch (thrown) {
      this.reject(thrown)
    }
  }
}

/** As Anthropic or OpenAI names it. */
const readRequestId = ({ headers }: Reply): string | null =>
  headers.get('request-id') ?? headers.get('x-request-id')

const redirected = (status: number): UpstreamFailure =>
  new UpstreamFailure('failed', 'it answered with a redirect, which is not followed', { status })
