/** The OpenAI family: chat completions over HTTP, as OpenAI and everyone who followed it speak them. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readErrorText, readWhole } from '../body.ts'
import { type Answer, send } from '../call.ts'
import { openPost } from '../post.ts'
import { readRetryAfter } from '../retry-after.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import { readStream } from '../stream.ts'
import { toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { toRequest } from './to-request.ts'

/** An OpenAI-shaped provider. @throws UpstreamFailure when its base URL is no http address */
export function openOpenAi(provider: Provider, credential: string | null): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential)
  const post = openPost(url)
  const scrub = createScrub(host, credential)
  return {
    async open(call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> {
      const body = toRequest(call.request, call.hop.card.upstreamName, provider.type)
      const answer = await send(call, { post, auth, body: JSON.stringify(body) })
      if (answer.reply.status >= 300) throw await toFailure(answer, scrub)
      return isStream(answer, call.request.stream)
        ? readStream(answer, startStream(scrub))
        : readBody(answer, scrub)
    },
  }
}

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), readRetryAfter(headers), scrub)
}

/** What came counts, not what was asked for: some answer a stream's request with one body, some stream unasked. */
function isStream({ reply }: Answer, asked: boolean): boolean {
  const type = reply.headers.get('content-type') ?? ''
  if (/event-stream/i.test(type)) return true
  return asked && !/json|html/i.test(type)
}

async function* readBody(answer: Answer, scrub: Scrub): AsyncGenerator<ChatEvents, void> {
  const { events, failure } = fromResponse(await readWhole(answer), scrub)
  if (events.length > 0) yield events
  if (failure) throw failure
}
