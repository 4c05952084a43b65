/** Work: what a client asks for, in the gateway's own model. */
import type { JsonObject } from './chat.ts'
import type { Conversation } from './conversation.ts'
import type { Extra } from './extras.ts'
import type { Member } from './json-text.ts'
import { ANY_IMAGE, type ImageChoice } from './model-card.ts'
import type { ModelKind } from './model-kind.ts'
import type { TextSize } from './text-size.ts'
import type { Reasoning } from './thinking.ts'

/** A body as the client sent it: a JSON object. */
export interface BodySource {
  readonly text: string
  /** False once no other attempt can follow, to free the memory; only `exact` may be asked for then. */
  readonly isHeld: boolean
  /** What was parsed of it: all but the long passages of its conversation, for each of which a full stop stands. */
  readonly exact: JsonObject
  /** Where its outermost members stand in the text. */
  readonly members: readonly Member[]
  /** Whether an object in it has a name more than once. */
  readonly repeatsNames: boolean
  /** All of it, parsed when it is first asked for. @throws invalid_json for a passage that is no JSON */
  whole(): JsonObject
  /** The same without some elements of the array that is its member `name`. */
  without(name: string, isCut: (index: number) => boolean): BodySource
  letGo(): void
}

/** A body with the passages that were left out of it. */
export function wholeBody({ body, source }: Pick<Work, 'body' | 'source'>): JsonObject {
  if (source === undefined) return body
  const whole = source.whole()
  if (whole === source.exact) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      value === source.exact[name] ? whole[name] : value,
    ]),
  )
}

/** The gateway's own fields at the top of a body (contract §7); no provider gets them. */
export const OWN_FIELDS: readonly string[] = ['allow_fallbacks', 'provider', 'models']

/** The wires in which clients ask, each by the name of its surface (contract §7). */
export const DIALECTS = ['chat', 'messages', 'responses', 'embeddings', 'rerank'] as const

export type Dialect = (typeof DIALECTS)[number]

/** What a surface asks a model to do. */
export const KIND_OF: Readonly<Record<Dialect, ModelKind>> = {
  chat: 'generate',
  messages: 'generate',
  responses: 'generate',
  embeddings: 'embed',
  rerank: 'rerank',
}

/** What a client asks for, and within which bounds; of whichever surface. */
export type Work = Generate | Embed | Rerank

/** What all kinds have. Those that generate nothing have the one value of these fields that says so (`NOT_GENERATED`). */
interface AnyWork {
  readonly dialect: Dialect
  readonly model: string
  /**
   * The body without the gateway's own fields; each provider's wire builds its request from it. Where it has a source, `wholeBody`
   * has the passages of its conversation.
   */
  readonly body: JsonObject
  /** For a long body, so that a wire which forwards most of it need not serialise it again; and for one that is sent as it came. */
  readonly source?: BodySource
  /** Headers of the client that a provider of its own dialect gets; absent where there are none. */
  readonly headers?: Readonly<Record<string, string>>
  /** How the model is to think; null where the client leaves it to the model. */
  readonly reasoning: Reasoning | null
  readonly stream: boolean
  /**
   * On chat, whether a stream ends in a usage chunk: always, unless `stream_options.include_usage` is false. Where the
   * provider's text passes as it is, whether its usage gets the cost: with `X-Gateway-Usage: 1`.
   */
  readonly includeUsage: boolean
  readonly wantsImages: boolean
  readonly image: ImageChoice
  /** `user`, the caller's end user. */
  readonly endUser: string | null
  /** The conversation or run of an agent that it belongs to; absent where the client names none. */
  readonly session?: string
  /** `n`, at least 1. */
  readonly choices: number
  /** The client's bound: `max_completion_tokens`, else `max_tokens`. What is sent is that of the `UpstreamCall`. */
  readonly maxOutputTokens: number | null
  /** UTF-8 bytes of what the model reads, of which none makes more than a token: the body without its images, or the texts. */
  readonly textBytes: number
  /** The size of that text as it is read, for estimates; absent where it is `textBytes` of ASCII. */
  readonly textSize?: TextSize
  readonly inputImages: number
  /** What its vendor bills beside the model's usual prices; absent where it asks for nothing of the kind. */
  readonly extras?: readonly Extra[]
  readonly allowFallbacks: boolean
  /** Absent where the request has no routing fields. */
  readonly routing?: Routing
}

/** An answer of text, tool calls or images. */
export interface Generate extends AnyWork {
  readonly kind: 'generate'
  /** The body in the gateway's own model. Built anew with every call, and so only for a provider that does not speak the dialect. */
  conversation(): Conversation
  /** Of `textBytes`, the base64 of files and audio; absent where there is none. */
  readonly fileBytes?: number
  /** Set where a request brings a file or sound, whose tokens no number of bytes bounds, or has the vendor search. */
  readonly isUnbounded?: true
  /** What only a provider of the client's own dialect could do; absent where every provider can be asked. */
  readonly onlyNative?: OnlyNative
  /**
   * Tools of the vendor that the answer may do without, by their place in the list of tools: cut from what is sent to a model
   * that has no price for them, which the receipt tells; absent where there are none.
   */
  readonly cutTools?: ReadonlyMap<number, CutTool>
  /** Of `inputImages`, those from earlier answers; a model without image input still accepts the request. */
  readonly earlierImages?: number
}

export interface CutTool {
  readonly type: string
  /** What it asks for where it is sent. */
  readonly extra: Extra
}

/** A field that no other wire has a word for, and why that matters, as the end of a sentence. */
export interface OnlyNative {
  readonly param: string
  readonly why: string
}

export const NOT_GENERATED = {
  stream: false,
  includeUsage: false,
  wantsImages: false,
  image: ANY_IMAGE,
  reasoning: null,
  choices: 1,
  maxOutputTokens: null,
  inputImages: 0,
} as const

type NotGenerated = AnyWork & typeof NOT_GENERATED

/** A vector for each entry of a list. */
export interface Embed extends NotGenerated {
  readonly kind: 'embed'
  /** The entries in the client's order; never empty. `textBytes` is their size. */
  readonly input: EmbedInput
  /** The estimated tokens of all entries: none shares one with another. */
  readonly tokens: number
  /** Those of the longest entry, for the context, which each entry has for itself. */
  readonly longestTokens: number
  /** As the client stated it; null: floats. */
  readonly encodingFormat: 'float' | 'base64' | null
  readonly dimensions: number | null
}

/** Texts, or lists of token ids. */
export type EmbedInput = readonly string[] | readonly (readonly number[])[]

/** Documents in the order of their relevance to a query. `textBytes` counts the query once for each of them. */
export interface Rerank extends NotGenerated {
  readonly kind: 'rerank'
  readonly query: string
  readonly documents: readonly string[]
  /** How many are wanted at most, and whether the client said so. */
  readonly top: number
  readonly isTopStated: boolean
  /** In whose shape the answer is rendered. */
  readonly shape: 'cohere' | 'voyage'
  readonly returnsDocuments: boolean
  /** Search units that it can be billed at most, and by estimate. */
  readonly mostSearchUnits: number
  readonly searchUnits: number
}

/** The routing fields of a request (contract §7); an empty list means no restriction. */
export interface Routing {
  /** Further models, in order. */
  readonly models: readonly string[]
  /** Providers to try first, to use alone, and to leave out. */
  readonly order: readonly string[]
  readonly only: readonly string[]
  readonly ignore: readonly string[]
}
