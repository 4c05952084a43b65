/** What comes back from a provider, whichever client fetched it: a status, fields, and a body pulled piece by piece. */
import type { MaybePromise } from '#domain/maybe-promise.ts'

/** A step of reading a body; `value` is the reader's to keep. */
export type Piece =
  | { readonly done: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value?: undefined }

export interface Reply {
  readonly status: number
  /** Names in any case; what stands twice is joined by commas; null where nothing stands. */
  readonly headers: { get(name: string): string | null }
  /**
   * The next bytes of the body, one call at a time; at once where they have come already. It rejects, and never throws,
   * when the body breaks off before its end, and with its reason once the exchange is aborted; nothing more is taken off
   * the line than a small buffer holds.
   */
  read(): MaybePromise<Piece>
  /**
   * All of the body as text, instead of its pieces: where all of it has come at once, and is no longer than that. Null
   * elsewhere, and then nothing has been taken. (To cut a piece out costs as much again as to read it.)
   */
  takeText?(mostBytes: number): string | null
  /** Whoever asks may take minutes over the body, and has seen all of the head that it wants. */
  forgetHead?(): void
}

/** What is posted. */
export interface Message {
  /** Names in lower case, without `host`, `connection` and `content-length`; never changed once it was posted. */
  readonly headers: Readonly<Record<string, string>>
  /** Posted as `x-request-id`, beside them. */
  readonly requestId?: string
  /** Text as a rule, a long one in pieces; bytes where pictures travel as they are. */
  readonly body: string | readonly string[] | Uint8Array
}

/** What can be aborted: an exchange, or the runtime's controller of one. */
export interface Abortable {
  abort(reason: unknown): void
}

/** What ends an exchange from this side. (An AbortController with its events costs a tenth of a whole exchange.) */
export interface ExchangeControl {
  readonly isAborted: boolean
  /** Aborts the latest that it holds, once: when the exchange is to end, or now if it has ended. */
  attach(attached: Abortable): void
  /** A connection is being made; where nobody says so, only the answer is waited for. */
  connecting(): void
  /** It stands, and the request leaves. */
  connected(): void
}

/** Who waits for the head of an answer, a promise's two ends perhaps: one of them is called, once. */
export interface ReplyHandler {
  resolve(reply: Reply): void
  reject(thrown: unknown): void
}

/**
 * Posts to one address and tells the head of the answer, whatever its status; redirects are not followed. A `fresh` one
 * goes out on a connection of its own, which is closed behind it unless no other rests. Rejects with a code that `brokeOff`
 * knows only when not one byte had come, on a connection that had rested.
 */
export type Post = (
  message: Message,
  handler: ReplyHandler,
  control: ExchangeControl,
  fresh: boolean,
) => void
