/** The Gemini family: Google's generateContent and streamGenerateContent. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { type Outgoing, performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { keepPosts } from '../posts.ts'
import { DIRECT, type Reach } from '../reach.ts'
import type { Post } from '../reply.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import { ToolNames } from '../tool-names.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'
import { askEmbeddings } from './embeddings.ts'
import { type Method, toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { toRequest } from './to-request.ts'

/** @throws UpstreamFailure when the base URL is not http or https */
export function openGemini(
  provider: Provider,
  credential: string | null,
  reach: Reach = DIRECT,
): Upstream {
  const { host, auth, address } = toEndpoint(provider, credential)
  const headers = toHeaders({ ...auth, ...reach.auth })
  const scrub = createScrub(host, credential ?? reach.secret)
  const posts = keepPosts(reach)
  const postFor = (model: string, method: Method): Post => posts(address(model, method))

  const wire: Omit<Wire, 'toOutgoing'> = {
    toFailure: (answer) => toFailure(answer, scrub),
    startStream: (contentType, asked) => (isStream(contentType, asked) ? startStream(scrub) : null),
    fromBody: (body) => fromResponse(body, scrub),
  }
  const toOwnOutgoing = (call: UpstreamCall, names: ToolNames): Outgoing => {
    const { request, hop } = call
    const body = JSON.stringify(toRequest(call, names))
    const method = request.stream ? 'streamGenerateContent' : 'generateContent'
    return toOutgoing(call, postFor(hop.card.upstreamName, method), headers, body)
  }
  const generate = async (call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> => {
    const names = new ToolNames()
    const asked: Wire = { ...wire, toOutgoing: (one) => toOwnOutgoing(one, names) }
    return names.restore(await performCall(asked, call))
  }
  return {
    ask(call) {
      const { request, hop } = call
      if (request.kind !== 'embed') return generate(call)
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
