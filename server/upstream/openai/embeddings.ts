/** Embeddings of OpenAI and of servers that speak as it does. */
import type { ChatEvents, JsonObject } from '#domain/chat.ts'
import type { Provider, ProviderType } from '#domain/provider.ts'
import type { UpstreamCall } from '#domain/upstream.ts'
import type { Embed } from '#domain/work.ts'
import { toHeaders, toOutgoing } from '../call.ts'
import { fromVectors, inOrder } from '../embed/from-vectors.ts'
import { askInParts, type ListLimits } from '../embed/in-parts.ts'
import { openPost } from '../http1/post.ts'
import { isObject, readList } from '../read-json.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated } from '../whole-answer.ts'
import { toEndpoint } from './endpoint.ts'
import { broken, findError } from './from-response.ts'
import { toUsageEvent } from './from-usage.ts'
import { toFailure } from './to-failure.ts'

/** OpenAI takes 2,048 entries and 300,000 tokens in one request, Mistral 16,384 tokens. */
const LIMITS: ListLimits = { entries: 2_048, tokens: 200_000 }
const LIMITS_OF: Partial<Record<ProviderType, ListLimits>> = {
  mistral: { entries: 2_048, tokens: 10_000 },
}

export type AskEmbed = (call: UpstreamCall, request: Embed) => Promise<AsyncIterable<ChatEvents>>

/** @throws UpstreamFailure when the base URL is not http or https */
export function openEmbeddings(
  provider: Provider,
  credential: string | null,
  scrub: Scrub,
): AskEmbed {
  const { url, auth } = toEndpoint(provider, credential, '/embeddings')
  const post = openPost(url)
  const headers = toHeaders(auth)
  const limits = LIMITS_OF[provider.type] ?? LIMITS
  return (call, request) =>
    askInParts(call, request, limits, (part, isWhole) => ({
      keepsText: true,
      toOutgoing: (sent) =>
        toOutgoing(sent, post, headers, JSON.stringify(toBody(sent, part, isWhole))),
      toFailure: (answer) => toFailure(answer, scrub),
      startStream: () => null,
      fromBody: (body, _, text) => fromEmbeddings(body, isWhole ? text : '', part, scrub),
    }))
}

/** The client's body, unknown fields too, with the provider's name for the model. A part of it has its own entries. */
const toBody = ({ request, hop }: UpstreamCall, part: Embed, isWhole: boolean): JsonObject => ({
  ...request.body,
  model: hop.card.upstreamName,
  ...(!isWhole && { input: part.input }),
})

/** Translates the body of a 200, whose vectors say which entry each is of. */
export function fromEmbeddings(
  body: unknown,
  text: string,
  request: Embed,
  scrub: Scrub,
): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const stated = toUsageEvent(body['usage'])
  // Its prompt is all of it: there is no other side to estimate.
  const usage = stated && { ...stated, partial: false }
  const failure = findError(body, scrub)
  if (failure) return { events: usage ? [usage] : [], failure }
  const { values, wasInOrder } = inOrder(readList(body['data']))
  return fromVectors({ values, usage, ...(wasInOrder && { text }) }, request)
}
