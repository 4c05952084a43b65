/** A surface: one wire in which clients ask. It reads their requests, and renders the walk's answer in their shape. */
import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { GatewayError } from '#domain/errors.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { JsonBody } from '../read/body.ts'

export interface Surface {
  /** @throws invalid_request, unsupported_parameter, and what else its contract refuses before the walk */
  readRequest(body: JsonBody, headers: Headers): Work
  startWhole(work: Work): WholeRenderer
  startStream(head: StreamHead, work: Work): StreamRenderer
  /** What a stream without data is filled with; absent: a comment. */
  readonly silence?: Silence
}

export interface Silence {
  readonly frame: string
  /** Sooner than the comments of all streams, where these come later. */
  readonly afterMs: number
}

/** Folds the events of one walk into one answer. */
export interface WholeRenderer {
  note(events: ChatEvents): void
  /** The JSON in consecutive pieces, so that an image of megabytes is not copied into one text with the rest. */
  render(head: AnswerHead, charge: Charge): Rendered
}

export type Rendered = readonly (string | Uint8Array)[]

/** For a surface whose requests never ask for a stream. */
export function notStreamed(): never {
  throw new TypeError('its answers are whole')
}

/** `provider` is absent until one has answered. */
export type StreamHead = Omit<AnswerHead, 'provider'> & Partial<Pick<AnswerHead, 'provider'>>

/** Renders the events of one walk as the frames of a stream. */
export interface StreamRenderer {
  /** Empty if nothing is to be sent. */
  events(events: ChatEvents): string
  error(error: GatewayError, requestId: string): string
  /** What is still missing at the end. A null charge means no charge. */
  end(charge: Charge | null): string
}
