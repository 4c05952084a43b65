/** The OpenAI family: chat completions and images of OpenAI and compatible providers. */
import type { Provider } from '#domain/provider.ts'
import type { Upstream } from '#domain/upstream.ts'
import { toHeaders, toOutgoing } from '../call.ts'
import { fetchImage as fetchGuarded } from '../guarded-fetch/fetch-image.ts'
import { performCall, type Wire } from '../perform-call.ts'
import { openPost } from '../post.ts'
import { createScrub } from '../scrub.ts'
import { toEndpoint } from './endpoint.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { usesImagesApi } from './images/uses-images-api.ts'
import { openImagesWire } from './images/wire.ts'
import { type FetchImage, inlineImages } from './inline-images.ts'
import { toFailure } from './to-failure.ts'
import { toOpenRouter } from './to-openrouter.ts'
import { toRequest } from './to-request.ts'
import { toPieces } from './to-text.ts'

/**
 * `fetchImage` fetches images that an answer has as remote URLs.
 * @throws UpstreamFailure when the base URL is not http or https
 */
export function openOpenAi(
  provider: Provider,
  credential: string | null,
  fetchImage: FetchImage = fetchGuarded,
): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential)
  const post = openPost(url)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  const imagesApi = openImagesWire(provider, credential, scrub, fetchImage)
  const chat: Wire = {
    toOutgoing(call) {
      const body = provider.type === 'openrouter' ? toOpenRouter(call) : toRequest(call)
      const { source } = call.request
      const text = source ? toPieces(body, source) : JSON.stringify(body)
      return toOutgoing(call, post, headers, text)
    },
    toFailure: (answer) => toFailure(answer, scrub),
    startStream: (contentType, asked) => (isStream(contentType, asked) ? startStream(scrub) : null),
    fromBody(body, { request, signal }) {
      const translated = fromResponse(body, scrub)
      // An image that was not asked for is not delivered, so it need not be fetched.
      return request.wantsImages ? inlineImages(translated, fetchImage, signal) : translated
    },
  }
  return { open: (call) => performCall(usesImagesApi(call) ? imagesApi : chat, call) }
}

/** Decided by the answer: some providers answer a streaming request with one body, some stream unasked. */
const isStream = (contentType: string, asked: boolean): boolean =>
  EVENT_STREAM.test(contentType) || (asked && !ONE_BODY.test(contentType))

const EVENT_STREAM = /event-stream/i
const ONE_BODY = /json|html/i
