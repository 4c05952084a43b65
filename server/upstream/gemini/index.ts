/** The Gemini family: Google's generateContent, and its stream. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { readErrorText, readWhole } from '../body.ts'
import { type Answer, send, toHeaders } from '../call.ts'
import { openPost } from '../post.ts'
import type { Post } from '../reply.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import { readStream } from '../stream.ts'
import { tellWhole } from '../whole.ts'
import { toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { toRequest } from './to-request.ts'

/** Two for every model that a large catalogue has; an operator who renames many only pays to open some again. */
const MOST_POSTS = 512

/** Google's Gemini API, or what speaks like it. @throws UpstreamFailure when its base URL is no http address */
export function openGemini(provider: Provider, credential: string | null): Upstream {
  const { host, auth, address } = toEndpoint(provider, credential)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  const posts = new Map<string, Post>()

  /** The model and the manner of answering stand in the address. */
  const postFor = (model: string, stream: boolean): Post => {
    const url = address(model, stream)
    const known = posts.get(url)
    if (known) return known
    if (posts.size >= MOST_POSTS) posts.clear()
    const post = openPost(url)
    posts.set(url, post)
    return post
  }

  return {
    async open(call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> {
      const { card } = call.hop
      const body = JSON.stringify(toRequest(call.request, card))
      const post = postFor(card.upstreamName, call.request.stream)
      const answer = await send(call, { post, headers, body })
      if (answer.reply.status >= 300) throw await toFailure(answer, scrub)
      return isStream(answer, call.request.stream)
        ? readStream(answer, startStream(scrub))
        : tellWhole(async () => fromResponse(await readWhole(answer), scrub))
    },
  }
}

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), readRetryAfter(headers), scrub)
}

/** What came counts, not what was asked for: without `alt=sse`, which a proxy may lose, a stream is one JSON list. */
function isStream({ reply }: Answer, asked: boolean): boolean {
  const type = reply.headers.get('content-type') ?? ''
  return /event-stream/i.test(type) || (asked && !/json|html/i.test(type))
}
