/** Embeddings of OpenAI and of servers that speak as it does. */
import type { ChatEvents, JsonObject } from '#domain/chat.ts'
import { isObject, readList } from '#domain/json.ts'
import type { Provider, ProviderType } from '#domain/provider.ts'
import type { UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import type { Embed } from '#domain/work.ts'
import { toHeaders, toOutgoing, type Wire } from '../call.ts'
import { fromVectors, inOrder, type Passed } from '../embed/from-vectors.ts'
import { askInParts, type ListLimits } from '../embed/in-parts.ts'
import { outlineVectors } from '../embed/outline-vectors.ts'
import { openPost } from '../http1/post.ts'
import type { Scrub } from '../scrub.ts'
import type { Translated, WholeWire } from '../whole-answer.ts'
import { toEndpoint } from './endpoint.ts'
import { broken, findError } from './from-response.ts'
import { toPromptEvent } from './from-usage.ts'
import { toFailure } from './to-failure.ts'
import { toText } from './to-request.ts'

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
  /** Upstream names of models that refused base64, which client libraries ask for unasked; forgotten with the process. */
  const onlyFloats = new Set<string>()
  const wireOf = (part: Embed, isWhole: boolean, isPlain = false): Wire => ({
    keepsText: true,
    toOutgoing(call) {
      const isFloat = isPlain || onlyFloats.has(call.hop.card.upstreamName)
      const body = toBody(call, part, isWhole, isFloat)
      return toOutgoing(call, post, headers, toText(body, call.request.source))
    },
    toFailure: (answer) => toFailure(answer, scrub),
    respell(failure, { hop }) {
      if (part.encodingFormat !== 'base64' || !blamesFormat(failure)) return null
      const accepted = () => void onlyFloats.add(hop.card.upstreamName)
      return { wire: wireOf(part, isWhole, true), accepted }
    },
    startStream: () => null,
    ...answered(part, isWhole, scrub),
  })
  return (call, request) => askInParts(call, request, limits, wireOf)
}

const blamesFormat = ({ kind, message, details: { param } }: UpstreamFailure): boolean =>
  kind === 'rejected' && (param === 'encoding_format' || /encoding[_ ]format|base64/i.test(message))

/**
 * The client's body, unknown fields too, with the provider's name for the model. A part of it has its own entries; `isFloat`:
 * numbers are asked for, which is what all servers do unasked.
 */
function toBody(
  { request, hop }: UpstreamCall,
  part: Embed,
  isWhole: boolean,
  isFloat: boolean,
): JsonObject {
  const { encoding_format: _, ...unformatted } = request.body
  return {
    ...(isFloat ? unformatted : request.body),
    model: hop.card.upstreamName,
    ...(!isWhole && { input: part.input }),
  }
}

/** How the answers are read: a long one passes unread where it can. */
export const answered = (
  part: Embed,
  isWhole: boolean,
  scrub: Scrub,
): Pick<WholeWire, 'fromBody' | 'fromPieces'> => ({
  fromBody: (body, _, text) =>
    fromEmbeddings(body, isWhole && text !== '' ? [text] : undefined, part, scrub),
  fromPieces(pieces) {
    if (!isWhole) return null
    const translated = fromEmbeddings(outlineVectors(pieces), pieces, part, scrub)
    return translated.events.some((event) => 'asTheyCame' in event) ? translated : null
  },
})

/** Translates the body of a 200, whose vectors say which entry each is of. */
function fromEmbeddings(
  body: unknown,
  pieces: Passed | undefined,
  request: Embed,
  scrub: Scrub,
): Translated {
  if (!isObject(body)) return broken('its answer is not a JSON object')
  const usage = toPromptEvent(body['usage'])
  // A count that cannot be is not passed on: the client reads what is charged.
  const isSound = !isObject(body['usage']) || (usage?.usage ?? null) !== null
  const failure = findError(body, scrub)
  if (failure) return { events: usage ? [usage] : [], failure }
  const { values, wasInOrder } = inOrder(readList(body['data']))
  return fromVectors({ values, usage, ...(wasInOrder && isSound && pieces && { pieces }) }, request)
}
