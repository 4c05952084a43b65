/** The Gemini family: Google's generateContent and streamGenerateContent. */
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { keepPosts } from '../posts.ts'
import type { Post } from '../reply.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'
import { askEmbeddings } from './embeddings.ts'
import { type Method, toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { toRequest } from './to-request.ts'

/** @throws UpstreamFailure when the base URL is not http or https */
export function openGemini(provider: Provider, credential: string | null): Upstream {
  const { host, auth, address } = toEndpoint(provider, credential)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  const posts = keepPosts()
  const postFor = (model: string, method: Method): Post => posts(address(model, method))

  const wire: Wire = {
    toOutgoing(call) {
      const { request, hop } = call
      const body = JSON.stringify(toRequest(call))
      const method = request.stream ? 'streamGenerateContent' : 'generateContent'
      return toOutgoing(call, postFor(hop.card.upstreamName, method), headers, body)
    },
    toFailure: (answer) => toFailure(answer, scrub),
    startStream: (contentType, asked) => (isStream(contentType, asked) ? startStream(scrub) : null),
    fromBody: (body) => fromResponse(body, scrub),
  }
  return {
    ask(call) {
      const { request, hop } = call
      if (request.kind !== 'embed') return performCall(wire, call)
      const post = postFor(hop.card.upstreamName, 'batchEmbedContents')
      return askEmbeddings(call, request, post, headers, wire.toFailure, scrub)
    },
  }
}

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), readRetryAfter(headers), scrub)
}

/** Decided by the answer: without `alt=sse`, which a proxy may drop, a stream is one JSON list. */
const isStream = (contentType: string, asked: boolean): boolean =>
  EVENT_STREAM.test(contentType) || (asked && !ONE_BODY.test(contentType))

const EVENT_STREAM = /event-stream/i
const ONE_BODY = /json|html/i
