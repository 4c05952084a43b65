/** The OpenAI family: chat completions over HTTP, as OpenAI and everyone who followed it speak them. */
import { toAbortSignal } from '#domain/cancel.ts'
import type { ChatEvents } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'
import { readWhole } from '../body.ts'
import { type Answer, send, toHeaders } from '../call.ts'
import { fetchPicture as fetchGuarded } from '../guarded-fetch/fetch-picture.ts'
import { openPost } from '../post.ts'
import { createScrub, type Scrub } from '../scrub.ts'
import { readStream } from '../stream.ts'
import { type Translated, tellWhole } from '../whole.ts'
import { toEndpoint } from './endpoint.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { openDrawing } from './images/draw.ts'
import { isForImages } from './images/rule.ts'
import { type FetchPicture, inlinePictures, isRemoteImage } from './inline-pictures.ts'
import { toFailure } from './to-failure.ts'
import { toRequest } from './to-request.ts'

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
  const draw = openDrawing(provider, credential, scrub, fetchPicture)
  return {
    async open(call: UpstreamCall): Promise<AsyncIterable<ChatEvents>> {
      if (isForImages(call)) return await draw(call)
      const body = toRequest(call.request, call.hop.card.upstreamName, provider.type)
      const answer = await send(call, { post, headers, body: JSON.stringify(body) })
      if (answer.reply.status >= 300) throw await toFailure(answer, scrub)
      return isStream(answer, call.request.stream)
        ? readStream(answer, startStream(scrub))
        : tellWhole(() => readBody(answer, call, scrub, fetchPicture))
    },
  }
}

/** What came counts, not what was asked for: some answer a stream's request with one body, some stream unasked. */
function isStream({ reply }: Answer, asked: boolean): boolean {
  const type = reply.headers.get('content-type') ?? ''
  if (/event-stream/i.test(type)) return true
  return asked && !/json|html/i.test(type)
}

async function readBody(
  answer: Answer,
  { signal }: UpstreamCall,
  scrub: Scrub,
  fetchPicture: FetchPicture,
): Promise<Translated> {
  const translated = fromResponse(await readWhole(answer), scrub)
  if (!translated.events.some(isRemoteImage)) return translated
  const events = await inlinePictures(translated.events, fetchPicture, toAbortSignal(signal))
  return { ...translated, events }
}
