/** The interface of the HTTP clients: a message to post, and a reply whose body is pulled piece by piece. */

/** A piece of a body; the reader may keep `value`. */
export type Piece =
  | { readonly done: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value?: undefined }

export interface Reply {
  readonly status: number
  /** Names are case-insensitive; repeated fields are joined by commas. */
  readonly headers: { get(name: string): string | null }
  /**
   * The next bytes of the body, one call at a time; synchronous when they have arrived already. It rejects, and never throws,
   * when the body is cut off, and with the abort reason once the exchange is aborted. Only a small buffer is read ahead.
   */
  read(): Piece | Promise<Piece>
  /**
   * The whole body as text when it arrived together with the head and has at most `mostBytes`; otherwise null, and `read`
   * still returns everything. (Saves one copy.)
   */
  takeText?(mostBytes: number): string | null
  /** Frees the head, for a body that may take minutes. */
  forgetHead?(): void
}

export interface Message {
  /** Names in lower case, without `host`, `connection` and `content-length`. Must not change after the first post: it is cached. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent as `x-request-id`, as it is: its characters were checked where it was accepted. */
  readonly requestId?: string
  /** Usually text, a long one in pieces; bytes for a form with images. */
  readonly body: string | Pieces | Uint8Array
}

export type Pieces = readonly string[]

/** An exchange, or an AbortController. */
export interface Abortable {
  abort(reason: unknown): void
}

/** Cancels an exchange from our side. (An AbortController with its events costs a tenth of a whole exchange.) */
export interface ExchangeControl {
  readonly isAborted: boolean
  /** Sets what is aborted when the exchange is cancelled; aborts it at once if that has happened. */
  attach(attached: Abortable): void
  /** A connection is being established; the connect time-out starts. */
  connecting(): void
  /** The connection is established. */
  connected(): void
  /** The connection has accepted the first byte of the request; may be called again. */
  sent(): void
}

/** Receives the head of an answer or the failure: exactly one of the two is called, once. */
export interface ReplyHandler {
  resolve(reply: Reply): void
  reject(thrown: unknown): void
}

/**
 * Posts to one URL (or gets it, with an empty body) and reports the head of the answer, whatever its status; redirects are not followed. A `fresh` request gets
 * a new connection, which is kept afterwards only when no other is idle. Rejects with a code that `isConnectionLost` accepts
 * only when an idle connection was reused and not one byte had arrived.
 */
export type Post = (
  message: Message,
  handler: ReplyHandler,
  control: ExchangeControl,
  fresh: boolean,
) => void
