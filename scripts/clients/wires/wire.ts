/** One provider's wire, as the stand-in speaks it: what it was asked, and what it says. */
import type { Counted, Json, Saying } from '../turn.ts'

/** Calls that the model made together, and what came back for them, in the order in which it was sent. */
export interface Round {
  readonly calls: readonly string[]
  readonly results: { readonly call: string; readonly text: string }[]
}

export interface Heard {
  readonly stream: boolean
  readonly tools: readonly string[]
  readonly rounds: readonly Round[]
  /** What the provider itself would refuse. */
  readonly faults: readonly string[]
}

export interface CloudFront {
  readonly url: string
  /** Of the operator. */
  readonly credential: string
  stop(): Promise<void>
}

export interface Wire {
  /** The provider's `--type`. */
  readonly type: string
  /** The gateway's id of its only model, whose first part is the provider's name. */
  readonly model: string
  /** Another name of it, for clients that know those of Anthropic's models alone. */
  readonly alias: string
  /** Further flags of `models add`. */
  readonly flags: readonly string[]
  /** What follows the provider's own part of its base URL. */
  readonly base: string
  /** The cloud in front of it, which is given the wire's own address; absent where the gateway asks it itself. */
  front?(url: string): CloudFront
  hear(body: Json, path: string): Heard
  whole(saying: Saying, counted: Counted, body: Json): Json
  /** The text of an event stream. */
  stream(saying: Saying, counted: Counted, body: Json): string
}

export const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : [])

/** The words of parts that carry text; the text itself where it is none. */
export const words = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map((part) => part['text'] ?? '')
        .join('')

export const sse = (events: readonly (Json | string)[]): string =>
  events
    .map((event) => {
      if (typeof event === 'string') return `data: ${event}\n\n`
      const name = typeof event['type'] === 'string' ? `event: ${event['type']}\n` : ''
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    .join('')

/** Ids of calls are those of the saying's place in the conversation. */
export const callId = (prefix: string, place: number): string => `${prefix}standin${place}`
