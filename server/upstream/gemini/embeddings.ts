/** Embeddings of Gemini: `batchEmbedContents`, for one entry too. */
import type { ChatEvent, ChatEvents, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject } from '#domain/json.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Embed } from '#domain/work.ts'
import { type ProviderHeaders, toOutgoing, type Wire } from '../call.ts'
import { fromVectors } from '../embed/from-vectors.ts'
import { askInParts } from '../embed/in-parts.ts'
import { broken } from '../openai/from-response.ts'
import { rejected } from '../rejected.ts'
import type { Post } from '../reply.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { toResource } from './endpoint.ts'
import { findError } from './from-error.ts'
import { fromUsage } from './from-usage.ts'

/** It takes 100 entries in one request. */
const LIMITS = { entries: 100, tokens: 200_000 }

export const askEmbeddings = (
  call: UpstreamCall,
  request: Embed,
  post: Post,
  headers: ProviderHeaders,
  toFailure: Wire['toFailure'],
  scrub: Scrub,
): Promise<AsyncIterable<ChatEvents>> =>
  askInParts(call, request, LIMITS, (part) => ({
    toOutgoing: (sent) => toOutgoing(sent, post, headers, JSON.stringify(toBatch(sent, part))),
    toFailure,
    startStream: () => null,
    fromBody: (body) => fromBatch(body, part, scrub),
  }))

/** @throws UpstreamFailure `rejected` for token ids */
function toBatch({ hop }: Pick<UpstreamCall, 'hop'>, request: Embed): JsonObject {
  const { input, dimensions, body } = request
  const model = toResource(hop.card.upstreamName)
  const { task_type: taskType } = body
  const requests = input.map((text) => {
    if (typeof text !== 'string') throw rejected('input', 'this model takes texts, no token ids')
    return {
      model,
      content: { parts: [{ text }] },
      ...(dimensions !== null && { outputDimensionality: dimensions }),
      ...(typeof taskType === 'string' && { taskType }),
    }
  })
  return { requests }
}

/** Translates the body of a 200, which usually has no count. */
function fromBatch(body: unknown, request: Embed, scrub: Scrub): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const counted = fromUsage(body['usageMetadata'])
  const usage: Extract<ChatEvent, { type: 'usage' }> | undefined = counted && {
    type: 'usage',
    usage: counted,
  }
  const failure = findError(body, scrub)
  if (failure) return { events: usage ? [usage] : [], failure }
  const values = readList(body['embeddings']).map((entry) => readObject(entry)['values'])
  return fromVectors({ values, usage }, request)
}
