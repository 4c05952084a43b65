/** An answer in the gateway's own model: the events that it is made of. */
import type { ImageChoice } from './model-card.ts'
import type { UsdNanos } from './money.ts'
import type { ResultEvent } from './result.ts'
import type { CallSignature, Thought } from './thought.ts'
import type { Usage } from './usage.ts'

export type JsonObject = { readonly [name: string]: unknown }

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

/**
 * The provider's own text, for a client that asks in the provider's dialect: frames of a stream, or a whole answer. It stands
 * after the events that the gateway read of it, in one batch with them. `holds` is set where a client may have to wait for the
 * receipt: on the frame with the last `usage`, and on the `end` of the answer, whether or not it has the usage too.
 */
export interface NativeEvent {
  readonly type: 'native'
  readonly text: string
  readonly holds?: 'usage' | 'end'
}

/** One event of an answer; a non-streamed answer is folded from the same events. */
export type ChatEvent =
  | ResultEvent
  | {
      readonly type: 'text-delta'
      readonly choice: number
      readonly text: string
      readonly logprobs?: unknown
    }
  | { readonly type: 'reasoning-delta'; readonly choice: number; readonly text: string }
  /** After the deltas of a thought: the whole of it as its model wants it back, signed or encrypted. */
  | { readonly type: 'thought'; readonly choice: number; readonly thought: Thought }
  /** Before a call. Chat has it in the call's own fields. */
  | { readonly type: 'call-signature'; readonly choice: number; readonly signature: CallSignature }
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
   * The provider's own count; a later one replaces an earlier one. A `partial` count was made before the answer was complete: its
   * prompt counts are final, but for what the vendor's tools find; its output counts are lower bounds. `statedCost` is the cost
   * that the provider states, for comparison only; `usage` is null where it states a cost and no counts. `served` has what it says
   * it served, under the names of the request's fields. `isUnsplit`: its cache writes may be for an hour, which it does not tell.
   */
  | {
      readonly type: 'usage'
      readonly usage: Usage | null
      readonly partial?: boolean
      readonly statedCost?: UsdNanos
      readonly served?: JsonObject
      readonly isUnsplit?: true
    }
  | NativeEvent

/** Events that arrived together; never empty. */
export type ChatEvents = readonly ChatEvent[]

/** The metadata of every answer: the generation's id, when it began, and the model and provider that serve it. */
export interface AnswerHead {
  readonly id: string
  readonly createdUnixSeconds: number
  readonly model: string
  readonly provider: string
  /** Whether its provider was asked in the client's dialect, so that its own text is what the client gets. */
  readonly isNative: boolean
}
