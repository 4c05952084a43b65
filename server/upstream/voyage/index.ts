/** The Voyage family: embeddings and rerank of Voyage AI. */
import type { JsonObject } from '#domain/chat.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'
import type { Embed } from '#domain/work.ts'
import { toHeaders, toOutgoing } from '../call.ts'
import { askInParts } from '../embed/in-parts.ts'
import { openPost } from '../http1/post.ts'
import { answered } from '../openai/embeddings.ts'
import { toEndpoint } from '../openai/endpoint.ts'
import { toFailure } from '../openai/to-failure.ts'
import { rejected } from '../rejected.ts'
import { askRerank } from '../rerank/ask.ts'
import { toVoyageRerank } from '../rerank/to-rerank.ts'
import { createScrub } from '../scrub.ts'

/** It takes 1,000 entries in one request, and of most models 120,000 tokens. */
const LIMITS = { entries: 1_000, tokens: 80_000 }

/** @throws UpstreamFailure when the base URL is not http or https */
export function openVoyage(provider: Provider, credential: string | null): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential, '/embeddings')
  const embeddings = openPost(url)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  const ranking = {
    post: openPost(toEndpoint(provider, credential, '/rerank').url),
    headers,
    scrub,
  }
  return {
    ask(call) {
      const { request } = call
      if (request.kind === 'rerank') return askRerank(call, request, toVoyageRerank, ranking)
      if (request.kind !== 'embed') return Promise.reject(rejected('model', 'it does not chat'))
      return askInParts(call, request, LIMITS, (part, isWhole) => ({
        keepsText: true,
        toOutgoing: (sent) =>
          toOutgoing(sent, embeddings, headers, JSON.stringify(toEmbeddings(sent, part, isWhole))),
        toFailure: (answer) => toFailure(answer, scrub),
        startStream: () => null,
        ...answered(part, isWhole, scrub),
      }))
    },
  }
}

/**
 * The client's body with Voyage's word for the number of dimensions, which knows no format but base64.
 * @throws UpstreamFailure `rejected` for token ids
 */
function toEmbeddings({ hop }: UpstreamCall, part: Embed, isWhole: boolean): JsonObject {
  const { body, input, encodingFormat } = part
  if (typeof input[0] !== 'string') throw rejected('input', 'this model takes texts, no token ids')
  const { dimensions, encoding_format: _, user: _user, ...others } = body
  return {
    ...others,
    model: hop.card.upstreamName,
    ...(!isWhole && { input }),
    ...(encodingFormat === 'base64' && { encoding_format: encodingFormat }),
    ...(dimensions !== undefined && { output_dimension: dimensions }),
  }
}
