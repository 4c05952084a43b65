/** The Anthropic family: the Messages API. */
import type { Provider } from '#domain/provider.ts'
import { type Upstream, UpstreamFailure } from '#domain/upstream.ts'
import { performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { openPost } from '../http1/post.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import type { Answer } from '../watchdog.ts'
import { readErrorText } from '../whole-answer.ts'
import { toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { answerWire, countWire } from './native/wire.ts'
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
  const toOwnFailure = wire.toFailure
  const native = answerWire({ post, headers, scrub, toFailure: toOwnFailure })
  const counting = countWire({
    post: openPost(`${url}/count_tokens`),
    headers,
    scrub,
    toFailure: toOwnFailure,
  })
  return {
    ask: (call) => performCall(call.request.dialect === 'messages' ? native : wire, call),
    count: async (call) => {
      for await (const [answer] of await performCall(counting, call)) {
        if (answer?.type === 'native') return answer.text
      }
      throw new UpstreamFailure('failed', 'it answered with nothing')
    },
  }
}

/** Some models refuse a speed without it. */
const FAST_MODE = 'fast-mode-2026-02-01'

const EVENT_STREAM = /event-stream/i

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), headers, scrub)
}
