/** The OpenAI family: chat completions over HTTP, as OpenAI and everyone who followed it speak them. */
import type { Provider } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
import { toHeaders, toOutgoing } from '../call.ts'
import { fetchPicture as fetchGuarded } from '../guarded-fetch/fetch-picture.ts'
import { performCall, type Wire } from '../perform-call.ts'
import { openPost } from '../post.ts'
import { createScrub } from '../scrub.ts'
import { toEndpoint } from './endpoint.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { openDrawing } from './images/draw.ts'
import { isForImages } from './images/rule.ts'
import { type FetchPicture, inlinePictures } from './inline-pictures.ts'
import { toFailure } from './to-failure.ts'
import { toRequest } from './to-request.ts'
import { toPieces } from './to-text.ts'

/**
 * An OpenAI-shaped provider; `fetchPicture` brings home what its answers name by an address.
 * @throws UpstreamFailure when its base URL is no http address
 */
export function openOpenAi(
  provider: Provider,
  credential: string | null,
  fetchPicture: FetchPicture = fetchGuarded,
): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential)
  const post = openPost(url)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  const drawing = openDrawing(provider, credential, scrub, fetchPicture)
  const chat: Wire = {
    toOutgoing(call) {
      const { request, hop } = call
      const body = toRequest(request, hop.card.upstreamName, provider.type)
      const { source } = request
      const text = source ? toPieces(body, source) : JSON.stringify(body)
      return toOutgoing(call, post, headers, text)
    },
    toFailure: (answer) => toFailure(answer, scrub),
    startStream: (contentType, asked) => (isStream(contentType, asked) ? startStream(scrub) : null),
    fromBody: (body, { signal }) => inlinePictures(fromResponse(body, scrub), fetchPicture, signal),
  }
  return { open: (call) => performCall(isForImages(call) ? drawing : chat, call) }
}

/** What came counts, not what was asked for: some answer a stream's request with one body, some stream unasked. */
const isStream = (contentType: string, asked: boolean): boolean =>
  EVENT_STREAM.test(contentType) || (asked && !ONE_BODY.test(contentType))

const EVENT_STREAM = /event-stream/i
const ONE_BODY = /json|html/i
