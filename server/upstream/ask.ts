/** The transport that HTTP families share: one POST, watched from its first byte to its last, and never redirected. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Soon } from '#domain/soon.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readWhole } from './body.ts'
import { type Answer, isSentOnce, type Outgoing, toMessage } from './call.ts'
import { brokeOff } from './failure.ts'
import type { Reply } from './reply.ts'
import { readStream, type Translation } from './stream.ts'
import { startWatchdog } from './watchdog.ts'
import { type Translated, tellWhole } from './whole.ts'

/** What a family makes of one provider's wire. */
export interface Wire {
  /** @throws UpstreamFailure where this wire has no words for the request */
  toOutgoing(call: UpstreamCall): Soon<Outgoing>
  /** What a bad status means; reads the error, and lets the connection go. */
  toFailure(answer: Answer): Promise<UpstreamFailure>
  /** Null where the answer is one body. What it says of itself counts: some answer a stream's request with one. */
  startStream(contentType: string, asked: boolean): Translation | null
  fromBody(body: unknown, call: UpstreamCall): Soon<Translated>
}

/**
 * Sends a request, and gives the events of its answer once a good status has come.
 * @throws UpstreamFailure; the signal's own reason when the client has left
 */
export async function ask(wire: Wire, call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> {
  const made = wire.toOutgoing(call)
  const outgoing = made instanceof Promise ? await made : made
  const message = toMessage(call, outgoing)
  const watchdog = startWatchdog(call)
  let reply: Reply | null = null
  for (let isFresh = isSentOnce(call); reply === null; isFresh = true) {
    try {
      reply = refuseRedirect(await outgoing.post(message, watchdog, isFresh))
    } catch (thrown) {
      // A provider closes idle connections when it likes, and a request may meet one that is just closing. It is sent once
      // more, because no byte of an answer had come.
      if (!isFresh && brokeOff(thrown) && !watchdog.isPulled) continue
      watchdog.cancel()
      throw watchdog.explain(thrown)
    }
  }
  const answer: Answer = { reply, watchdog }
  if (reply.status >= 300) throw await wire.toFailure(answer)
  if (call.request.source) call.request.source.text = null
  const contentType = reply.headers.get('content-type') ?? ''
  const translation = wire.startStream(contentType, call.request.stream)
  if (translation === null) {
    return tellWhole(() => translate(wire, call, readWhole(answer)))
  }
  reply.forgetHead?.()
  return readStream(answer, translation)
}

const translate = (wire: Wire, call: UpstreamCall, body: unknown): Soon<Translated> =>
  body instanceof Promise ? translateLater(wire, call, body) : wire.fromBody(body, call)

const translateLater = async (
  wire: Wire,
  call: UpstreamCall,
  body: Promise<unknown>,
): Promise<Translated> => await wire.fromBody(await body, call)

function refuseRedirect(reply: Reply): Reply {
  const { status } = reply
  if (status < 300 || status >= 400) return reply
  throw new UpstreamFailure('failed', 'it answered with a redirect, which is not followed', {
    status,
  })
}
