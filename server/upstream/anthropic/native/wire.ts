/** Asks in the client's own words: its body and the provider's answer pass as they are, while the gateway reads usage and ending. */
import type { JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { type BodySource, OWN_FIELDS } from '#domain/work.ts'
import { countsOf, misframed, type Outgoing, toOutgoing, type Wire } from '../../call.ts'
import { readCount } from '../../read-json.ts'
import type { Pieces } from '../../reply.ts'
import { spliceJson } from '../../splice-json.ts'
import { fromResponse } from '../from-response.ts'
import { outputBoundOf } from '../output-bound.ts'
import { readAs } from '../read-as.ts'
import type { MessagesServer } from '../server.ts'
import { startNativeStream } from './from-stream.ts'

export const answerWire = (server: MessagesServer): Wire => ({
  toOutgoing: (call) => pass(call, server, toBound(call)),
  toFailure: (answer) => server.toFailure(answer),
  startStream(contentType, asked) {
    const translation = readAs(server, contentType, asked, startNativeStream)
    if (translation !== null && !asked) throw misframed(asked)
    return translation
  },
  keepsText: true,
  fromBody(body, { request }, text = '') {
    const events = fromResponse(body, server.scrub)
    if (request.stream) return { events: countsOf(events), failure: misframed(true) }
    return { events: [...events, { type: 'native', text, holds: 'end' }], failure: null }
  },
})

/** Counts the tokens of a prompt. */
export const countWire = (server: MessagesServer): Wire => ({
  toOutgoing: (call) => pass(call, server, {}),
  toFailure: (answer) => server.toFailure(answer),
  startStream: () => null,
  keepsText: true,
  fromBody(body, _call, text = '') {
    if (!isObject(body) || readCount(body['input_tokens']) === undefined) {
      throw new UpstreamFailure('failed', 'its answer holds no count')
    }
    return { events: [{ type: 'native', text }], failure: null }
  },
})

/** Of the body only the fields of `set` change, and those that the server wants otherwise; the gateway's own go. */
function pass(call: UpstreamCall, server: MessagesServer, set: JsonObject): Outgoing {
  const { headers } = call.request
  const body = toPieces(call, server, set)
  return toOutgoing(call, server.postFor(call), server.headersWith(headers), body)
}

/** The client's own body for this server. */
export function toPieces(
  call: UpstreamCall,
  server: Pick<MessagesServer, 'membersOf' | 'cut'>,
  set: JsonObject,
): Pieces {
  const { source, headers } = call.request
  if (source === undefined) throw new TypeError('a native request has the body that came')
  const members = server.membersOf(call, headers)
  const said = withoutUnsigned(source)
  return spliceJson(source, { ...members, ...set, ...said }, [...OWN_FIELDS, ...server.cut])
}

/**
 * The messages without the thoughts of other models, which have an empty signature from here and are refused by this API; nothing
 * where there are none.
 */
function withoutUnsigned(source: BodySource): JsonObject {
  if (!readList(source.exact['messages']).some(hasUnsigned)) return {}
  const messages = readList(source.whole()['messages']).flatMap((message) => {
    if (!hasUnsigned(message)) return [message]
    const content = readList(readObject(message)['content']).filter((block) => !isUnsigned(block))
    return content.length === 0 ? [] : [{ ...readObject(message), content }]
  })
  return { messages }
}

const hasUnsigned = (message: unknown): boolean =>
  readList(readObject(message)['content']).some(isUnsigned)

const isUnsigned = (block: unknown): boolean => {
  const { type, signature } = readObject(block)
  return type === 'thinking' && signature === ''
}

/** Nothing where the client's own bound stands. */
function toBound(call: UpstreamCall): JsonObject {
  const most = call.maxOutputTokens ?? call.request.maxOutputTokens ?? outputBoundOf(call)
  return most === call.request.maxOutputTokens ? {} : { max_tokens: most }
}
