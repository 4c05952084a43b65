/** The transport that HTTP families share: one POST, watched from its first byte to its last, and never redirected. */
import type { UpstreamCall } from '#domain/upstream.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { brokeOff } from './failure.ts'
import type { Message, Post, Reply } from './reply.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'

declare const GATEWAY_VERSION: string

const USER_AGENT = `gatewayctl/${typeof GATEWAY_VERSION === 'undefined' ? 'dev' : GATEWAY_VERSION}`

/** The fields of every request to a provider, made once: for an answer that comes whole, and for one that streams. */
export interface StandingHeaders {
  readonly whole: Message['headers']
  readonly stream: Message['headers']
}

/** `auth` is the operator's; no header of the client's is ever carried over. */
export function toHeaders(
  auth: Readonly<Record<string, string>>,
  contentType = 'application/json',
): StandingHeaders {
  const whole = {
    'content-type': contentType,
    accept: 'application/json',
    // A compressed event stream arrives in lumps, and a compressed body could inflate without bound.
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...auth,
  }
  return { whole, stream: { ...whole, accept: 'text/event-stream' } }
}

/** What goes out, and where to. */
export interface Outgoing {
  readonly post: Post
  readonly headers: StandingHeaders
  readonly body: Message['body']
}

/** What comes back, with the watchdog that guards the reading of it. */
export interface Answer {
  readonly reply: Reply
  readonly watchdog: Watchdog
}

/**
 * Sends a request and waits for the head of its answer, whatever the status.
 * @throws UpstreamFailure of kind `failed` or `timeout`; the signal's own reason when the client has left
 */
export async function send(call: UpstreamCall, outgoing: Outgoing): Promise<Answer> {
  const watchdog = startWatchdog(call)
  try {
    const reply = await post(toMessage(call, outgoing), isSentOnce(call), outgoing, watchdog)
    if (reply.status >= 300 && reply.status < 400) {
      throw new UpstreamFailure('failed', 'it answered with a redirect, which is not followed', {
        status: reply.status,
      })
    }
    return { reply, watchdog }
  } catch (thrown) {
    watchdog.cancel()
    throw watchdog.explain(thrown)
  }
}

function post(
  message: Message,
  isOnce: boolean,
  outgoing: Outgoing,
  watchdog: Watchdog,
): Promise<Reply> {
  const answer = outgoing.post(message, watchdog, isOnce)
  if (isOnce) return answer
  return answer.catch((thrown) => {
    // A provider closes idle connections when it likes, and a request may meet one that is just closing. It is sent once
    // more, because no byte of an answer had come.
    if (!brokeOff(thrown) || watchdog.isPulled) throw thrown
    return outgoing.post(message, watchdog, true)
  })
}

/**
 * What may not be sent twice goes out on a connection of its own, which cannot be closing: a request for exactly one attempt
 * (contract §7), and one for a picture, which might be drawn and billed twice.
 */
const isSentOnce = ({ request }: UpstreamCall): boolean =>
  !request.allowFallbacks || request.wantsImages

const toMessage = ({ requestId, request }: UpstreamCall, { headers, body }: Outgoing): Message => ({
  headers: request.stream ? headers.stream : headers.whole,
  requestId,
  body,
})
