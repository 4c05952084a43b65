/** The chat operation in the gateway's own model: the request, and the events of its answer. */
import type { ImageChoice } from './model-card.ts'
import type { UsdNanos } from './money.ts'
import type { TextSize } from './text-size.ts'
import type { Usage } from './usage.ts'

export type JsonObject = { readonly [name: string]: unknown }

/** A body as the client sent it. */
export interface BodySource {
  /** The JSON text; set to null once an answer begins, to free the memory: no other attempt follows. */
  text: string | null
  /** The parsed text. */
  readonly fields: JsonObject
}

export interface ChatRequest {
  readonly model: string
  /** The parsed body without the gateway's own fields; each wire builds its request from it. */
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

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

export interface ToolCallDelta {
  readonly type: 'tool-call-delta'
  readonly choice: number
  readonly index: number
  /** Absent on the deltas that only continue the arguments. */
  readonly id?: string
  readonly name?: string
  readonly kind: 'function' | 'custom'
  /** The next piece of the JSON text, or of the custom tool's input. */
  readonly arguments: string
  /** Other fields, kept for the next turn, such as a thought signature. */
  readonly fields?: JsonObject
}

/** One event of an answer; a non-streamed answer is folded from the same events. */
export type ChatEvent =
  | {
      readonly type: 'text-delta'
      readonly choice: number
      readonly text: string
      readonly logprobs?: unknown
    }
  | { readonly type: 'reasoning-delta'; readonly choice: number; readonly text: string }
  | {
      readonly type: 'refusal-delta'
      readonly choice: number
      readonly text: string
      readonly logprobs?: unknown
    }
  | ToolCallDelta
  /** `drawn`: size and quality as the provider states them; they may differ from the requested ones. */
  | {
      readonly type: 'image'
      readonly choice: number
      readonly url: string
      readonly drawn?: ImageChoice
    }
  /** Unknown fields of a message, passed through. */
  | { readonly type: 'message-fields'; readonly choice: number; readonly fields: JsonObject }
  /** Unknown fields of a choice beside its message (Azure's content filter), passed through. */
  | { readonly type: 'choice-fields'; readonly choice: number; readonly fields: JsonObject }
  /** Unknown fields of the answer beside `choices` (fingerprint, citations), passed through. */
  | { readonly type: 'answer-fields'; readonly fields: JsonObject }
  | {
      readonly type: 'finish'
      readonly choice: number
      readonly reason: FinishReason
      readonly native: string
    }
  /**
   * The provider's own count; a later one replaces an earlier one. A `partial` count was made before the answer was complete:
   * its prompt counts are final, its output counts are lower bounds. `statedCost` is the cost that the provider states, for
   * comparison only; `usage` is null where it states a cost and no counts.
   */
  | {
      readonly type: 'usage'
      readonly usage: Usage | null
      readonly partial?: boolean
      readonly statedCost?: UsdNanos
    }

/** Events that arrived together; never empty. */
export type ChatEvents = readonly ChatEvent[]

/** The metadata of every answer: the generation's id, when it began, and the model and provider that serve it. */
export interface AnswerHead {
  readonly id: string
  readonly createdUnixSeconds: number
  readonly model: string
  readonly provider: string
}
