/** One timer per call that judges silence: no connection or no first byte in time, too long a pause, or too long in all. */
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { fromTransportError } from './failure.ts'
import type { Leash } from './reply.ts'

/** Its leash is pulled when the client leaves, when a time is up, and by `cancel`. */
export interface Watchdog extends Leash {
  /** From now on the provider is waited for; a client that reads slowly is not the provider's silence. */
  waits(): void
  /** Bytes came. */
  heard(): void
  /** The exchange is over: no timer and no listener stays behind. */
  stop(): void
  /** Lets the provider go at once, and stops. */
  cancel(): void
  /** Whether it was the client, or the gateway's stop, that ended the exchange. */
  readonly abandoned: boolean
  /** What a broken exchange means: the client's leaving as it was given, a time-out, or the line's failure. */
  explain(thrown: unknown): unknown
}

/** What setTimeout can still count. */
const LONGEST_TIMER_MS = 2_147_483_647

/** Starts to wait for the first byte. */
export function startWatchdog({ timeouts, signal }: UpstreamCall): Watchdog {
  const startedMs = performance.now()
  let waitingSinceMs: number | null = startedMs
  let connectingSinceMs: number | null = null
  let heardAny = false
  let expired = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let timerDueMs = 0
  let pulled: { readonly reason: unknown } | null = null
  let whenPulled: ((reason: unknown) => void) | null = null

  const pull = (reason: unknown): void => {
    if (pulled !== null) return
    pulled = { reason }
    whenPulled?.(reason)
  }

  const dueMs = (nowMs: number): number => {
    const pauseMs = heardAny
      ? (waitingSinceMs ?? nowMs) + timeouts.silenceTimeoutMs
      : startedMs + timeouts.firstByteTimeoutMs
    const dueMs = Math.min(pauseMs, startedMs + timeouts.totalTimeoutMs)
    if (connectingSinceMs === null) return dueMs
    return Math.min(dueMs, connectingSinceMs + timeouts.connectTimeoutMs)
  }
  // The timer is set anew only when it fires, not at every chunk: a chunk costs two readings of the clock.
  const arm = (): void => {
    const nowMs = performance.now()
    timerDueMs = dueMs(nowMs)
    const restMs = timerDueMs - nowMs
    if (restMs > 0) {
      timer = setTimeout(arm, Math.min(Math.ceil(restMs), LONGEST_TIMER_MS))
      return
    }
    expired = true
    pull(cut())
  }
  // A timer that fires too early sets itself anew.
  const hasten = (): void => {
    if (dueMs(performance.now()) >= timerDueMs) return
    clearTimeout(timer)
    arm()
  }
  const leave = (): void => pull(signal.reason)
  const stop = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }

  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  arm()

  return {
    get isPulled() {
      return pulled !== null
    },
    onPull(listener) {
      if (pulled === null) whenPulled = listener
      else listener(pulled.reason)
    },
    connects() {
      connectingSinceMs = performance.now()
      hasten()
    },
    connected() {
      connectingSinceMs = null
    },
    waits() {
      if (heardAny) waitingSinceMs = performance.now()
    },
    heard() {
      waitingSinceMs = null
      if (heardAny) return
      heardAny = true
      hasten()
    },
    stop,
    cancel() {
      stop()
      pull(cut())
    },
    get abandoned() {
      return signal.aborted
    },
    explain(thrown) {
      if (signal.aborted) return signal.reason
      if (expired) return new UpstreamFailure('timeout', late(connectingSinceMs !== null))
      return thrown instanceof UpstreamFailure ? thrown : fromTransportError(thrown)
    },
  }
}

const late = (isConnecting: boolean): string =>
  isConnecting ? 'it could not be reached in time' : 'it did not answer in time'

/** What a reader that is still waiting is told; what it means, `explain` knows. */
const cut = (): Error => new DOMException('the exchange was cut short', 'AbortError')
