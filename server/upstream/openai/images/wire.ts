/** The images API as a `Wire`: generations and edits. */
import type { Provider } from '#domain/provider.ts'
import type { Wire } from '../../call.ts'
import { toHeaders, toOutgoing } from '../../call.ts'
import { openPost } from '../../http1/post.ts'
import type { Post } from '../../reply.ts'
import type { Scrub } from '../../scrub.ts'
import { toEndpoint } from '../endpoint.ts'
import { type FetchImage, inlineImages } from '../inline-images.ts'
import { toFailure } from '../to-failure.ts'
import { fromImages } from './from-images.ts'
import { type ImageRequest, toImageRequest } from './to-request.ts'

/** Created once per provider. */
export function openImagesWire(
  provider: Provider,
  credential: string | null,
  scrub: Scrub,
  fetchImage: FetchImage,
): Wire {
  const open = (operation: ImageRequest['operation']): Post =>
    openPost(toEndpoint(provider, credential, operation).url)
  const posts = {
    '/images/generations': open('/images/generations'),
    '/images/edits': open('/images/edits'),
  }
  const { auth } = toEndpoint(provider, credential)
  return {
    async toOutgoing(call) {
      const { operation, contentType, body } = await toImageRequest(call)
      return toOutgoing(call, posts[operation], toHeaders(auth, contentType), body)
    },
    toFailure: (answer) => toFailure(answer, scrub),
    // Streaming is never requested from this API.
    startStream: () => null,
    fromBody: (body, { request, signal }) =>
      inlineImages(fromImages(body, request.choices, scrub), fetchImage, signal),
  }
}
