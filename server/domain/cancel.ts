/** Cancel: how whoever waits for an answer says that nobody does any more. */

/** What may be watched of it. An `AbortSignal` is one too. */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/**
 * Signal and controller in one, without the machinery of events: every request has two, and an `AbortController` costs
 * as much as the admission of a request.
 */
export class Canceller implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  private listeners: (() => void)[] | null = null

  /** Only the first reason counts; each listener hears it once. */
  abort(reason: unknown = new DOMException('nobody waits for it any more', 'AbortError')): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const { listeners } = this
    this.listeners = null
    if (listeners) for (const listener of listeners) listener()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.aborted) return
    if (this.listeners === null) this.listeners = [listener]
    else this.listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const place = this.listeners?.indexOf(listener) ?? -1
    if (place >= 0) this.listeners?.splice(place, 1)
  }
}

/** One that aborts with `signal`, and can be aborted by itself. */
export const cancelWith = (signal: CancelSignal): Canceller => follow(signal, new Canceller())

/** The same for whoever takes an `AbortSignal` alone: the runtime's fetch, say. */
export const toAbortSignal = (signal: CancelSignal): AbortSignal =>
  signal instanceof AbortSignal ? signal : follow(signal, new AbortController()).signal

function follow<Follower extends { abort(reason: unknown): void }>(
  signal: CancelSignal,
  follower: Follower,
): Follower {
  if (signal.aborted) follower.abort(signal.reason)
  else signal.addEventListener('abort', () => follower.abort(signal.reason), { once: true })
  return follower
}
