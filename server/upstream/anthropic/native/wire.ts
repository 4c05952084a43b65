/** Asks in the client's own words: its body and the provider's answer pass as they are, while the gateway reads usage and ending. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { OWN_FIELDS } from '#domain/work.ts'
import { type Outgoing, type ProviderHeaders, toOutgoing, type Wire } from '../../call.ts'
import { isObject, readCount } from '../../read-json.ts'
import type { Post } from '../../reply.ts'
import type { Scrub } from '../../scrub.ts'
import { spliceJson } from '../../splice-json.ts'
import { fromResponse } from '../from-response.ts'
import { outputBoundOf } from '../output-bound.ts'
import { startNativeStream } from './from-stream.ts'

/** A provider's address and headers. */
interface Line {
  readonly post: Post
  readonly headers: ProviderHeaders
  readonly scrub: Scrub
  readonly toFailure: Wire['toFailure']
}

export const answerWire = ({ post, headers, scrub, toFailure }: Line): Wire => ({
  toOutgoing: (call) => pass(call, post, headers, { ...toModel(call), ...toBound(call) }),
  toFailure,
  startStream: (contentType) =>
    /event-stream/i.test(contentType) ? startNativeStream(scrub) : null,
  keepsText: true,
  fromBody: (body, _call, text = '') => ({
    events: [...fromResponse(body, scrub), { type: 'native', text, holds: 'end' } as ChatEvent],
    failure: null,
  }),
})

/** Counts the tokens of a prompt. */
export const countWire = ({ post, headers, toFailure }: Line): Wire => ({
  toOutgoing: (call) => pass(call, post, headers, toModel(call)),
  toFailure,
  startStream: () => null,
  keepsText: true,
  fromBody(body, _call, text = '') {
    if (!isObject(body) || readCount(body['input_tokens']) === undefined) {
      throw new UpstreamFailure('failed', 'its answer holds no count')
    }
    return { events: [{ type: 'native', text }], failure: null }
  },
})

/** Of the body only the fields of `set` change, and the gateway's own go. */
function pass(call: UpstreamCall, post: Post, own: ProviderHeaders, set: JsonObject): Outgoing {
  const { source, body, headers } = call.request
  const text = source?.text ?? JSON.stringify(body)
  return toOutgoing(call, post, withClients(own, headers), spliceJson(text, set, OWN_FIELDS))
}

/** The headers of the client that this provider gets, over the gateway's own. */
const withClients = (
  { whole, stream }: ProviderHeaders,
  headers: UpstreamCall['request']['headers'],
): ProviderHeaders => ({ whole: { ...whole, ...headers }, stream: { ...stream, ...headers } })

const toModel = ({ hop: { card } }: UpstreamCall): JsonObject => ({ model: card.upstreamName })

/** Nothing where the client's own bound stands. */
function toBound(call: UpstreamCall): JsonObject {
  const most = call.maxOutputTokens ?? call.request.maxOutputTokens ?? outputBoundOf(call)
  return most === call.request.maxOutputTokens ? {} : { max_tokens: most }
}
