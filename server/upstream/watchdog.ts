/** Enforces the time-outs of an exchange: connect, first byte, silence between bytes, total. */
import { onCancel } from '#domain/cancel.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { clearDeadline, type Deadline, setDeadline } from '#runtime/short-lived.ts'
import { fromTransportError } from './failure.ts'
import type { Abortable, ExchangeControl, Reply } from './reply.ts'

/**
 * Aborts one exchange when the client disconnects, on a time-out, and on `cancel`. (A class because there is one per request,
 * and a set of closures costs more.)
 */
export class Watchdog implements ExchangeControl, Deadline {
  place = -1
  isAborted = false
  private readonly call: UpstreamCall
  private readonly startedMs = performance.now()
  private endsMs: number
  private waitingSinceMs: number | null = this.startedMs
  private connectingSinceMs: number | null = null
  private hasReceived = false
  private expired = false
  private reason: unknown = undefined
  private attached: Abortable | null = null

  constructor(call: UpstreamCall) {
    this.call = call
    this.endsMs = this.startedMs + call.timeouts.totalTimeoutMs
    onCancel(call.signal, this)
    setDeadline(this, this.startedMs)
  }

  attach(attached: Abortable): void {
    if (this.isAborted) attached.abort(this.reason)
    else this.attached = attached
  }

  /** The client has disconnected. */
  handleEvent(): void {
    this.abort(this.call.signal.reason)
  }

  connecting(): void {
    const nowMs = performance.now()
    this.connectingSinceMs = nowMs
    setDeadline(this, nowMs)
  }

  connected(): void {
    this.connectingSinceMs = null
  }

  sent(): void {
    this.call.sending.isSent = true
  }

  /** Starts the silence time-out. It does not run while a slow client is reading. */
  startWaiting(): void {
    if (!this.hasReceived || this.isAborted) return
    const nowMs = performance.now()
    this.waitingSinceMs = nowMs
    setDeadline(this, nowMs)
  }

  /** Bytes have arrived. */
  received(): void {
    this.waitingSinceMs = null
    this.hasReceived = true
  }

  /** Limits the remaining time of the exchange. */
  limitRest(ms: number): void {
    const nowMs = performance.now()
    this.endsMs = Math.min(this.endsMs, nowMs + ms)
    setDeadline(this, nowMs)
  }

  /** The time-outs of an exchange that replaces this one: the total goes on. */
  timeoutsLeft(): UpstreamCall['timeouts'] {
    const { timeouts } = this.call
    const leftMs = timeouts.totalTimeoutMs - (performance.now() - this.startedMs)
    return { ...timeouts, totalTimeoutMs: Math.max(1, leftMs) }
  }

  /** The client has the whole answer: its signal no longer aborts the exchange. */
  release(): void {
    this.call.signal.removeEventListener('abort', this)
  }

  /** The exchange is over: removes the deadline and the listener. */
  stop(): void {
    clearDeadline(this)
    this.release()
  }

  /** Stops, and aborts the exchange at once. */
  cancel(): void {
    this.stop()
    if (!this.isAborted) this.abort(abortError())
  }

  /** Whether the client, or the gateway's shutdown, ended the exchange. */
  get abandoned(): boolean {
    return this.call.signal.aborted
  }

  /** The reason why an exchange failed: the client's abort reason, a time-out, or the transport error. */
  explain(thrown: unknown): unknown {
    if (this.call.signal.aborted) return this.call.signal.reason
    if (this.expired)
      return new UpstreamFailure('timeout', timeoutMessage(this.connectingSinceMs !== null))
    return thrown instanceof UpstreamFailure ? thrown : fromTransportError(thrown)
  }

  dueMs(nowMs: number): number {
    const { connectingSinceMs, call } = this
    const { timeouts } = call
    const pauseMs = this.hasReceived
      ? (this.waitingSinceMs ?? nowMs) + timeouts.silenceTimeoutMs
      : this.startedMs + timeouts.firstByteTimeoutMs
    const dueMs = Math.min(pauseMs, this.endsMs)
    if (connectingSinceMs === null) return dueMs
    return Math.min(dueMs, connectingSinceMs + timeouts.connectTimeoutMs)
  }

  expire(): void {
    this.expired = true
    this.abort(abortError())
  }

  private abort(reason: unknown): void {
    if (this.isAborted) return
    clearDeadline(this)
    this.isAborted = true
    this.reason = reason
    this.attached?.abort(reason)
  }
}

const timeoutMessage = (isConnecting: boolean): string =>
  isConnecting ? 'it could not be reached in time' : 'it did not answer in time'

/** Given to a pending read; `explain` turns it into the real reason. */
const abortError = (): Error => new DOMException('the exchange was cut short', 'AbortError')

/** A reply and the watchdog that limits how long reading it may take. */
export interface Answer {
  readonly reply: Reply
  readonly watchdog: Watchdog
}
