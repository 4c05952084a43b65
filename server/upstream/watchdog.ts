/** Judges the silence of providers: no connection or no first byte in time, too long a pause, or too long in all. */
import { onCancel } from '#domain/cancel.ts'
import { clearDeadline, type Deadline, setDeadline } from '#domain/deadlines.ts'
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { fromTransportError } from './failure.ts'
import type { Abortable, ExchangeControl } from './reply.ts'

/** Starts to wait for the first byte. */
export const startWatchdog = (call: UpstreamCall): Watchdog => new Watchdog(call)

/**
 * Watches one exchange, and aborts it when the client leaves, when a time is up, and by `cancel`. (A class: each
 * request has one, and a closure for each of its acts would cost more than all that they do.)
 */
export class Watchdog implements ExchangeControl, Deadline {
  place = -1
  isAborted = false
  private readonly timeouts: UpstreamCall['timeouts']
  private readonly signal: UpstreamCall['signal']
  private readonly startedMs = performance.now()
  private endsMs: number
  private waitingSinceMs: number | null = this.startedMs
  private connectingSinceMs: number | null = null
  private hasReceived = false
  private expired = false
  private reason: unknown = undefined
  private attached: Abortable | null = null

  constructor({ timeouts, signal }: UpstreamCall) {
    this.timeouts = timeouts
    this.signal = signal
    this.endsMs = this.startedMs + timeouts.totalTimeoutMs
    onCancel(signal, this)
    setDeadline(this, this.startedMs)
  }

  attach(attached: Abortable): void {
    if (this.isAborted) attached.abort(this.reason)
    else this.attached = attached
  }

  /** The client has left. */
  handleEvent(): void {
    this.abort(this.signal.reason)
  }

  connecting(): void {
    const nowMs = performance.now()
    this.connectingSinceMs = nowMs
    setDeadline(this, nowMs)
  }

  connected(): void {
    this.connectingSinceMs = null
  }

  /** From now on the provider is waited for; a client that reads slowly is not the provider's silence. */
  startWaiting(): void {
    if (!this.hasReceived || this.isAborted) return
    const nowMs = performance.now()
    this.waitingSinceMs = nowMs
    setDeadline(this, nowMs)
  }

  /** Bytes came. */
  received(): void {
    this.waitingSinceMs = null
    this.hasReceived = true
  }

  /** What is left of the exchange may take no longer than this. */
  limitRest(ms: number): void {
    const nowMs = performance.now()
    this.endsMs = Math.min(this.endsMs, nowMs + ms)
    setDeadline(this, nowMs)
  }

  /** The client has all that it asked for: what is left of the exchange is no business of its signal. */
  release(): void {
    this.signal.removeEventListener('abort', this)
  }

  /** The exchange is over: nobody watches it, and no listener stays behind. */
  stop(): void {
    clearDeadline(this)
    this.release()
  }

  /** Lets the provider go at once, and stops. */
  cancel(): void {
    this.stop()
    if (!this.isAborted) this.abort(abortError())
  }

  /** Whether it was the client, or the gateway's stop, that ended the exchange. */
  get abandoned(): boolean {
    return this.signal.aborted
  }

  /** What a broken exchange means: the client's leaving as it was given, a time-out, or the line's failure. */
  explain(thrown: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason
    if (this.expired)
      return new UpstreamFailure('timeout', timeoutMessage(this.connectingSinceMs !== null))
    return thrown instanceof UpstreamFailure ? thrown : fromTransportError(thrown)
  }

  dueMs(nowMs: number): number {
    const { timeouts, connectingSinceMs } = this
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

/** What a reader that is still waiting is told; what it means, `explain` knows. */
const abortError = (): Error => new DOMException('the exchange was cut short', 'AbortError')
