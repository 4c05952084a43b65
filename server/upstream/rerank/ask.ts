/** Asks a provider for an order of documents, in Cohere's shape or in Voyage's. */
import type { ChatEvents, JsonObject } from '#domain/chat.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Rerank } from '#domain/work.ts'
import { type ProviderHeaders, performCall, toOutgoing } from '../call.ts'
import { toFailure } from '../openai/to-failure.ts'
import type { Post } from '../reply.ts'
import type { Scrub } from '../scrub.ts'
import { fromRanking } from './from-ranking.ts'

/** Where it is asked. */
export interface RerankAddress {
  readonly post: Post
  readonly headers: ProviderHeaders
  readonly scrub: Scrub
}

export const askRerank = (
  call: UpstreamCall,
  request: Rerank,
  toBody: (call: UpstreamCall, request: Rerank) => JsonObject,
  { post, headers, scrub }: RerankAddress,
): Promise<AsyncIterable<ChatEvents>> =>
  performCall(
    {
      keepsText: true,
      toOutgoing: (sent) => toOutgoing(sent, post, headers, JSON.stringify(toBody(sent, request))),
      toFailure: (answer) => toFailure(answer, scrub),
      startStream: () => null,
      fromBody: (body, _, text) => fromRanking(body, text, request, scrub),
    },
    call,
  )
