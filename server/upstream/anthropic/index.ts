/** The Anthropic family: the Messages API over HTTP. */
import type { ChatEvents } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { readErrorText, readWhole } from '../body.ts'
import { type Answer, send, toHeaders } from '../call.ts'
import { openPost } from '../post.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import { readStream } from '../stream.ts'
import { type Translated, tellWhole } from '../whole.ts'
import { toEndpoint } from './endpoint.ts'
import { fromErrorAnswer } from './from-error.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { toRequest } from './to-request.ts'

/** An Anthropic-shaped provider. @throws UpstreamFailure when its base URL is no http address */
export function openAnthropic(provider: Provider, credential: string | null): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential)
  const post = openPost(url)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  return {
    async open(call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> {
      const body = toRequest(call.request, call.hop.card)
      const answer = await send(call, { post, headers, body: JSON.stringify(body) })
      if (answer.reply.status >= 300) throw await toFailure(answer, scrub)
      return isStream(answer)
        ? readStream(answer, startStream(scrub))
        : tellWhole(() => readBody(answer, scrub))
    },
  }
}

async function toFailure(answer: Answer, scrub: Scrub): Promise<UpstreamFailure> {
  const { status, headers } = answer.reply
  return fromErrorAnswer(status, await readErrorText(answer), headers, scrub)
}

/** What came counts, not what was asked for: a server in between may gather a stream into one body. */
const isStream = ({ reply }: Answer): boolean =>
  /event-stream/i.test(reply.headers.get('content-type') ?? '')

const readBody = async (answer: Answer, scrub: Scrub): Promise<Translated> => ({
  events: fromResponse(await readWhole(answer), scrub),
  failure: null,
})
