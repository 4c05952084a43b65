/** The OpenAI family: chat completions, the Responses API and images of OpenAI and compatible providers. */
import { hasWire, isAskedInResponses, isNative } from '#domain/hop.ts'
import {
  type BoundWord,
  type OutputBound,
  outputBoundOf,
  type Provider,
  type ProviderType,
} from '#domain/provider.ts'
import type { Upstream, UpstreamCall } from '#domain/upstream.ts'
import { isStream, performCall, toHeaders, toOutgoing, type Wire } from '../call.ts'
import { fetchImage as fetchGuarded } from '../guarded-fetch/fetch-image.ts'
import { DIRECT, type Reach } from '../reach.ts'
import { askRerank } from '../rerank/ask.ts'
import { toCohereRerank } from '../rerank/to-rerank.ts'
import { createScrub } from '../scrub.ts'
import { openEmbeddings } from './embeddings.ts'
import { toEndpoint } from './endpoint.ts'
import { askInChat } from './from-conversation/ask-in-chat.ts'
import { fromResponse } from './from-response.ts'
import { startStream } from './from-stream.ts'
import { openImagesWire } from './images/wire.ts'
import { type FetchImage, inlineImages } from './inline-images.ts'
import { respellBound } from './respell-bound.ts'
import { askInResponses, asRepetition, pointsToResponses } from './responses/ask-in-responses.ts'
import { openResponsesWires } from './responses/wire.ts'
import { toFailure } from './to-failure.ts'
import { toOpenRouter } from './to-openrouter.ts'
import { toRequest, toText } from './to-request.ts'

/** Told once by which word a provider takes the bound that it refused in another. */
export type LearnBound = (word: BoundWord) => void

/**
 * `fetchImage` fetches images that an answer has as remote URLs.
 * @throws UpstreamFailure when the base URL is not http or https
 */
export function openOpenAi(
  provider: Provider,
  credential: string | null,
  fetchImage: FetchImage = fetchGuarded,
  learn: LearnBound = () => undefined,
  reach: Reach = DIRECT,
): Upstream {
  const { url, host, auth } = toEndpoint(provider, credential)
  const post = reach.open(url)
  const headers = toHeaders({ ...auth, ...reach.auth })
  const scrub = createScrub(host, credential ?? reach.secret)
  const imagesApi = openImagesWire(provider, credential, scrub, fetchImage)
  const askEmbed = openEmbeddings(provider, credential, scrub)
  const rerank = reach.open(toEndpoint(provider, credential, '/rerank').url)
  const responses = openResponsesWires(provider, credential, scrub, reach)
  /** By a model's upstream name; those of one provider may differ, because it serves several vendors. */
  const learned = new Map<string, BoundWord>()
  const inResponses = asRepetition(responses.translated)
  /** Upstream names of models that have said so, where their cards do not; forgotten with the process. */
  const onlyInResponses = new Set<string>()
  const toBody = provider.type === 'openrouter' ? toOpenRouter : toRequest
  const spelled = (bound: OutputBound | null): Wire => ({
    toOutgoing(call) {
      return toOutgoing(call, post, headers, toText(toBody(call, bound), call.request.source))
    },
    toFailure: (answer) => toFailure(answer, scrub),
    respell(failure, { hop, maxOutputTokens }) {
      const pointed = hasWire(hop, 'responses') ? pointsToResponses(failure) : null
      if (pointed !== null) {
        const accepted = () =>
          void (pointed === 'always' && onlyInResponses.add(hop.card.upstreamName))
        return { wire: inResponses, accepted }
      }
      const word = maxOutputTokens === null ? null : respellBound(bound, failure)
      if (word === null) return null
      const accepted = (): void => {
        if (learned.size === 0) learn(word)
        learned.set(hop.card.upstreamName, word)
      }
      return { wire: wires[word], accepted }
    },
    startStream: (contentType, asked) => (isStream(contentType, asked) ? startStream(scrub) : null),
    fromBody(body, { request, signal }) {
      const translated = fromResponse(body, scrub)
      // An image that was not asked for is not delivered, so it need not be fetched.
      return request.wantsImages ? inlineImages(translated, fetchImage, signal) : translated
    },
  })
  const wires: Readonly<Record<BoundWord, Wire>> = {
    max_tokens: spelled('max_tokens'),
    max_completion_tokens: spelled('max_completion_tokens'),
  }
  const usual = spelled(outputBoundOf(provider))
  const chatWire = (upstreamName: string): Wire => {
    const word = learned.get(upstreamName)
    return word === undefined ? usual : wires[word]
  }
  const ask: Upstream['ask'] = (call) =>
    performCall(usesImagesApi(call) ? imagesApi : chatWire(call.hop.card.upstreamName), call)
  return {
    ask(call) {
      const { request } = call
      switch (request.kind) {
        case 'generate':
          // Of the dialects that it speaks itself, chat is the one that is always rendered.
          if (isNative(call.hop, request.dialect)) return performCall(responses.native, call)
          if (isAskedInResponses(call.hop) || onlyInResponses.has(call.hop.card.upstreamName)) {
            return askInResponses(call, request, responses.translated)
          }
          return request.dialect === 'chat' ? ask(call) : askInChat(call, request, ask)
        case 'embed':
          return askEmbed(call, request)
        case 'rerank':
          return askRerank(call, request, toCohereRerank, { post: rerank, headers, scrub })
      }
    },
  }
}

/** Providers with OpenAI's images API. OpenRouter, for one, generates images only in chat. */
const TYPES: ReadonlySet<ProviderType> = new Set([
  'openai',
  'azure',
  'openai-compatible',
  'xai',
  'together',
])

const OPENAI_IMAGE_MODELS = /(?:^|\/)(?:chat)?gpt-image|(?:^|\/)dall-e/i

/**
 * Whether an image is requested of a model that only generates images: its card has no text output, or its name is that of an
 * OpenAI image model. The name is checked because public catalogues list text as an output of some of them, and the id besides
 * the upstream name because an Azure deployment can have any name.
 */
export function usesImagesApi({ request, hop }: UpstreamCall): boolean {
  const { card, provider } = hop
  return (
    request.wantsImages &&
    TYPES.has(provider.type) &&
    (!card.outputModalities.includes('text') ||
      OPENAI_IMAGE_MODELS.test(card.upstreamName) ||
      OPENAI_IMAGE_MODELS.test(card.id))
  )
}
