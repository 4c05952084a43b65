/** The chat operation in the gateway's own terms: what a client asks for, and the events that answer it. */
import type { UsdNanos } from './money.ts'
import type { ImageChoice } from './pricing.ts'
import type { Usage } from './usage.ts'

export type JsonObject = { readonly [name: string]: unknown }

/** A body as its client wrote it. */
export interface BodySource {
  /** Its JSON; null once an answer has begun, which may take minutes: nobody is asked again. */
  text: string | null
  /** What was parsed of it. */
  readonly fields: JsonObject
}

export interface ChatRequest {
  readonly model: string
  /** The client's whole body, parsed, with what only the gateway understands taken out; rebuilt for each wire. */
  readonly body: JsonObject
  /** Absent where it is short: a wire that passes most of a body on need not put it into words again. */
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
  /** `max_completion_tokens`, else `max_tokens`. */
  readonly maxOutputTokens: number | null
  /** UTF-8 bytes of the body without the pictures in it. */
  readonly textBytes: number
  /** Of those, bytes of files and sounds in base64; absent where there is none. */
  readonly fileBytes?: number
  /** Set where it names a file, by an address or an id, whose size nobody here knows. */
  readonly isUnbounded?: true
  readonly inputImages: number
  /** Of those, pictures of earlier answers; a model that takes no pictures may be asked all the same. */
  readonly earlierImages?: number
  readonly allowFallbacks: boolean
  /** Absent where the request says nothing of it: the model asked for, at its own provider. */
  readonly routing?: Routing
}

/** Where else a request may be served (contract §7); an empty list says nothing. */
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
  /** A further piece of the JSON text (or of the custom tool's input). */
  readonly arguments: string
  /** Fields beside the ones above, kept for the next turn (a thought signature, say). */
  readonly fields?: JsonObject
}

/** One step of an answer; a whole answer is the same steps, folded. */
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
  /** `drawn` is what the provider says that it drew, which may be another size than was asked for, or the first word of one. */
  | {
      readonly type: 'image'
      readonly choice: number
      readonly url: string
      readonly drawn?: ImageChoice
    }
  /** Message fields that the gateway does not know, passed on. */
  | { readonly type: 'message-fields'; readonly choice: number; readonly fields: JsonObject }
  /** Answer fields beside `choices` that the gateway does not know (fingerprint, citations), passed on. */
  | { readonly type: 'answer-fields'; readonly fields: JsonObject }
  | {
      readonly type: 'finish'
      readonly choice: number
      readonly reason: FinishReason
      readonly native: string
    }
  /**
   * The provider's own count; a later one replaces an earlier one. A `partial` one was made before the answer was complete:
   * its prompt counts hold, while the output may since have grown beyond what it says. `statedCost` is what the provider
   * says that it charges the operator, for comparison only; `usage` is null where it says that and counts nothing.
   */
  | {
      readonly type: 'usage'
      readonly usage: Usage | null
      readonly partial?: boolean
      readonly statedCost?: UsdNanos
    }

/** What arrived together; never empty. */
export type ChatEvents = readonly ChatEvent[]

/** What every answer is labelled with: the generation's id, when it began, and who really serves it. */
export interface AnswerHead {
  readonly id: string
  readonly createdUnixSeconds: number
  readonly model: string
  readonly provider: string
}
