/** Cancellation: how the reader of an answer signals that it no longer wants it. */

/** A function, or an object with `handleEvent` as in the DOM, which saves creating a closure. */
export type CancelListener = (() => void) | { handleEvent(): void }

/** The listening side; `AbortSignal` satisfies it. */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: CancelListener, options?: { readonly once: true }): void
  removeEventListener(type: 'abort', listener: CancelListener): void
}

/**
 * Signal and controller in one, without event dispatch. Every request has two, and an `AbortController` costs as much as
 * the admission of a request.
 */
export class Canceller implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  /** There is usually one listener, which needs no list. */
  private listener: CancelListener | null = null
  private others: CancelListener[] | null = null
  private readonly followed: CancelSignal | null

  /** Is aborted when `followed` is aborted, and can be aborted on its own. */
  constructor(followed: CancelSignal | null = null) {
    this.followed = followed
    if (followed !== null) onCancel(followed, this)
  }

  /** Only the first reason counts; each listener is called once. */
  abort(reason: unknown = new DOMException('the request was cancelled', 'AbortError')): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const { listener, others } = this
    this.listener = null
    this.others = null
    if (listener !== null) notify(listener)
    if (others !== null) for (const other of others) notify(other)
  }

  /** Called when `followed` is aborted. */
  handleEvent(): void {
    this.abort(this.followed?.reason)
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: CancelListener): void {
    if (this.aborted) return
    if (this.listener === null) this.listener = listener
    else if (this.others === null) this.others = [listener]
    else this.others.push(listener)
  }

  removeEventListener(_type: 'abort', listener: CancelListener): void {
    if (this.listener === listener) {
      this.listener = null
      return
    }
    const place = this.others?.indexOf(listener) ?? -1
    if (place >= 0) this.others?.splice(place, 1)
  }
}

/** The same signal for APIs that take an `AbortSignal` alone, such as the runtime's fetch. */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  onCancel(signal, () => controller.abort(signal.reason))
  return controller.signal
}

const ONCE = { once: true } as const

/** Calls `listener` when `signal` is aborted, or now if it has been. */
export function onCancel(signal: CancelSignal, listener: CancelListener): void {
  if (signal.aborted) notify(listener)
  else signal.addEventListener('abort', listener, ONCE)
}

function notify(listener: CancelListener): void {
  if (typeof listener === 'function') listener()
  else listener.handleEvent()
}
