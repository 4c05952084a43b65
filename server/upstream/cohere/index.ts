/** The Cohere family: embeddings and rerank of its API, version 2. */
import type { ChatEvent, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import type { Provider } from '#domain/provider.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Embed } from '#domain/work.ts'
import { toHeaders, toOutgoing } from '../call.ts'
import { fromVectors } from '../embed/from-vectors.ts'
import { askInParts } from '../embed/in-parts.ts'
import { openPost } from '../http1/post.ts'
import { broken } from '../openai/from-response.ts'
import { toFailure } from '../openai/to-failure.ts'
import { readCount } from '../read-json.ts'
import { rejected } from '../rejected.ts'
import { askRerank } from '../rerank/ask.ts'
import { toCohereRerank } from '../rerank/to-rerank.ts'
import { createScrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { toEndpoint } from './endpoint.ts'

/** It takes 96 texts in one request. */
const LIMITS = { entries: 96, tokens: 200_000 }

/** @throws UpstreamFailure when the base URL is not http or https */
export function openCohere(provider: Provider, credential: string | null): Upstream {
  const { host, auth, address } = toEndpoint(provider, credential)
  const headers = toHeaders(auth)
  const scrub = createScrub(host, credential)
  const embed = openPost(address('/v2/embed'))
  const ranking = { post: openPost(address('/v2/rerank')), headers, scrub }
  return {
    ask(call) {
      const { request } = call
      if (request.kind === 'rerank') return askRerank(call, request, toCohereRerank, ranking)
      if (request.kind !== 'embed') return Promise.reject(rejected('model', 'it does not chat'))
      return askInParts(call, request, LIMITS, (part) => ({
        toOutgoing: (sent) => toOutgoing(sent, embed, headers, JSON.stringify(toEmbed(sent, part))),
        toFailure: (answer) => toFailure(answer, scrub),
        startStream: () => null,
        fromBody: (body) => fromEmbed(body, part),
      }))
    },
  }
}

/** @throws UpstreamFailure `rejected` for token ids */
function toEmbed({ hop }: UpstreamCall, { input, body, dimensions }: Embed): JsonObject {
  if (typeof input[0] !== 'string') throw rejected('input', 'this model takes texts, no token ids')
  const { input_type = 'search_document', truncate } = body
  return {
    model: hop.card.upstreamName,
    // What the texts are for; those that are stored, where the client does not say.
    input_type,
    texts: input,
    embedding_types: ['float'],
    ...(dimensions !== null && { output_dimension: dimensions }),
    ...(truncate !== undefined && { truncate }),
  }
}

/** Translates the body of a 200. */
function fromEmbed(body: unknown, request: Embed): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const billed = readObject(readObject(body['meta'])['billed_units'])
  const inputTokens = readCount(billed['input_tokens'])
  const usage: Extract<ChatEvent, { type: 'usage' }> | undefined =
    inputTokens === undefined ? undefined : { type: 'usage', usage: { ...NO_USAGE, inputTokens } }
  return fromVectors({ values: readList(readObject(body['embeddings'])['float']), usage }, request)
}
