/** Asks the images API: a drawing or an edit goes out, pictures come back. */
import { toAbortSignal } from '#domain/cancel.ts'
import type { ChatEvents } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import { readWhole } from '../../body.ts'
import { type Answer, send, toHeaders } from '../../call.ts'
import { openPost } from '../../post.ts'
import type { Post } from '../../reply.ts'
import type { Scrub } from '../../scrub.ts'
import { type Translated, tellWhole } from '../../whole.ts'
import { toEndpoint } from '../endpoint.ts'
import { type FetchPicture, inlinePictures } from '../inline-pictures.ts'
import { toFailure } from '../to-failure.ts'
import { fromImages } from './from-images.ts'
import { type ImageRequest, toImageRequest } from './to-request.ts'

/** Draws; opened once for a provider. */
export function openDrawing(
  provider: Provider,
  credential: string | null,
  scrub: Scrub,
  fetchPicture: FetchPicture,
): (call: UpstreamCall) => Promise<AsyncIterable<ChatEvents>> {
  const open = (operation: ImageRequest['operation']): Post =>
    openPost(toEndpoint(provider, credential, operation).url)
  const posts = {
    '/images/generations': open('/images/generations'),
    '/images/edits': open('/images/edits'),
  }
  const { auth } = toEndpoint(provider, credential)

  return async (call) => {
    const { operation, contentType, body } = await toImageRequest(call)
    const answer = await send(call, {
      post: posts[operation],
      headers: toHeaders(auth, contentType),
      body,
    })
    if (answer.reply.status >= 300) throw await toFailure(answer, scrub)
    return tellWhole(() => readPictures(answer, call, scrub, fetchPicture))
  }
}

async function readPictures(
  answer: Answer,
  { request, signal }: UpstreamCall,
  scrub: Scrub,
  fetchPicture: FetchPicture,
): Promise<Translated> {
  const translated = fromImages(await readWhole(answer), request.choices, scrub)
  return {
    ...translated,
    events: await inlinePictures(translated.events, fetchPicture, toAbortSignal(signal)),
  }
}
