/** Work: what a client asks for, in the gateway's own model. */
import type { JsonObject } from './chat.ts'
import type { ImageChoice } from './model-card.ts'
import type { TextSize } from './text-size.ts'

/** A body as the client sent it. */
export interface BodySource {
  /** The JSON text; set to null once an answer begins, to free the memory: no other attempt follows. */
  text: string | null
  /** The parsed text. */
  readonly fields: JsonObject
}

/** The wire in which a client asks, by the surface that it came to (contract §7). */
export type Dialect = 'chat' | 'messages' | 'responses'

/** What a client asks for, and within which bounds; of whichever surface. */
export interface Work {
  readonly dialect: Dialect
  readonly model: string
  /** The parsed body without the gateway's own fields; each provider's wire builds its request from it. */
  readonly body: JsonObject
  /** Only for a long body, so that a wire which forwards most of it need not serialise it again. */
  readonly source?: BodySource
  readonly stream: boolean
  /** Whether a stream ends in a usage chunk: always, unless `stream_options.include_usage` is false. */
  readonly includeUsage: boolean
  readonly wantsImages: boolean
  readonly image: ImageChoice
  /** `user`, the caller's end user. */
  readonly endUser: string | null
  /** `n`, at least 1. */
  readonly choices: number
  /** The client's bound: `max_completion_tokens`, else `max_tokens`. What is sent is that of the `UpstreamCall`. */
  readonly maxOutputTokens: number | null
  /** UTF-8 bytes of the body without its images. */
  readonly textBytes: number
  /** The size of that text as it is read, for estimates; absent where it is `textBytes` of ASCII. */
  readonly textSize?: TextSize
  /** Of `textBytes`, the base64 of files and audio; absent where there is none. */
  readonly fileBytes?: number
  /** Set where the request refers to a file by URL or id, whose size is unknown here. */
  readonly isUnbounded?: true
  readonly inputImages: number
  /** Of `inputImages`, those from earlier answers; a model without image input still accepts the request. */
  readonly earlierImages?: number
  readonly allowFallbacks: boolean
  /** Absent where the request has no routing fields. */
  readonly routing?: Routing
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
