/** The Anthropic family: the Messages API. */
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamFailure } from '#domain/upstream.ts'
import { performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { openPost } from '../http1/post.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'
import { toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { toRequest } from './to-request.ts'

/** @throws UpstreamFailure when the base URL is not http or https */
export function openAnthropic(provider: Provider, credential: string | null): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential)
  const post = openPost(url)
  const headers = toHeaders(auth)
  const fastHeaders = toHeaders({ ...auth, 'anthropic-beta': FAST_MODE })
  const scrub = createScrub(host, credential)
  const wire: Wire = {
    toOutgoing(call) {
      const sent = toRequest(call)
      const ofThis = sent.speed === 'fast' ? fastHeaders : headers
      return toOutgoing(call, post, ofThis, JSON.stringify(sent))
    },
    toFailure: (answer) => toFailure(answer, scrub),
    // Decided by the answer, not the request: a proxy may collect a stream into one body.
    startStream: (contentType) => (EVENT_STREAM.test(contentType) ? startStream(scrub) : null),
    fromBody: (body) => ({ events: fromResponse(body, scrub), failure: null }),
  }
  return { ask: (call) => performCall(wire, call) }
}

/** Some models refuse a speed without it. */
const FAST_MODE = 'fast-mode-2026-02-01'

const EVENT_STREAM = /event-stream/i

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), headers, scrub)
}
