/** Counts the tokens of a prompt for Claude: CountTokens, which takes the body that InvokeModel would get. */

import { isObject } from '#domain/json.ts'
import { type Upstream, type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { toPieces } from '../anthropic/native/wire.ts'
import type { MessagesServer } from '../anthropic/server.ts'
import { performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { keepPosts } from '../posts.ts'
import { readCount } from '../read-json.ts'
import { toAddress } from './claude.ts'
import type { BedrockReach } from './reach.ts'

/** It knows models by their own names alone, and not the profiles through which they are served in several regions. */
const PROFILE = /^[a-z-]+\.(?=anthropic\.)/

/** Null where it does not count, as for a profile of the operator's own: an estimate is better than an error. */
export function openCount(
  reach: BedrockReach,
  server: MessagesServer,
): NonNullable<Upstream['count']> {
  const { base, auth } = reach
  const posts = keepPosts(reach)
  const headers = toHeaders(auth)
  const wire: Wire = {
    toOutgoing(call) {
      const model = call.hop.card.upstreamName.replace(PROFILE, '')
      const post = posts(toAddress(base, model, 'count-tokens'))
      return toOutgoing(call, post, headers, JSON.stringify(toBody(call, server)))
    },
    toFailure: (answer) => server.toFailure(answer),
    startStream: () => null,
    fromBody(body) {
      const tokens = isObject(body) ? readCount(body['inputTokens']) : undefined
      if (tokens === undefined) throw new UpstreamFailure('failed', 'its answer holds no count')
      return {
        events: [{ type: 'native', text: JSON.stringify({ input_tokens: tokens }) }],
        failure: null,
      }
    },
  }
  return async (call) => {
    try {
      for await (const [answer] of await performCall(wire, call)) {
        if (answer?.type === 'native') return answer.text
      }
    } catch (thrown) {
      if (!(thrown instanceof UpstreamFailure)) throw thrown
    }
    return null
  }
}

/** InvokeModel's body has a bound, which a request that is only counted need not have. */
function toBody(call: UpstreamCall, server: MessagesServer): object {
  const pieces = toPieces(call, server, { max_tokens: 1 })
  const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)))
  return { input: { invokeModel: { body: body.toString('base64') } } }
}
