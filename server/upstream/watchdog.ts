/** One timer per call that judges silence: no first byte in time, too long a pause, or too long in all. */
import { type UpstreamCall, UpstreamFailure } from '#domain/upstream.ts'
import { fromTransportError } from './failure.ts'

export interface Watchdog {
  /** Aborts the exchange when the client leaves or a time is up. */
  readonly signal: AbortSignal
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
  const controller = new AbortController()
  const startedMs = performance.now()
  let waitingSinceMs: number | null = startedMs
  let heardAny = false
  let expired = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const dueMs = (nowMs: number): number => {
    const pauseMs = heardAny
      ? (waitingSinceMs ?? nowMs) + timeouts.silenceTimeoutMs
      : startedMs + timeouts.firstByteTimeoutMs
    return Math.min(pauseMs, startedMs + timeouts.totalTimeoutMs)
  }
  // The timer is set anew only when it fires, not at every chunk: a chunk costs two readings of the clock.
  const arm = (): void => {
    const nowMs = performance.now()
    const restMs = dueMs(nowMs) - nowMs
    if (restMs > 0) {
      timer = setTimeout(arm, Math.min(Math.ceil(restMs), LONGEST_TIMER_MS))
      return
    }
    expired = true
    controller.abort()
  }
  const leave = (): void => controller.abort(signal.reason)
  const stop = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }

  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  arm()

  return {
    signal: controller.signal,
    waits() {
      if (heardAny) waitingSinceMs = performance.now()
    },
    heard() {
      waitingSinceMs = null
      if (heardAny) return
      heardAny = true
      clearTimeout(timer)
      arm()
    },
    stop,
    cancel() {
      stop()
      controller.abort()
    },
    get abandoned() {
      return signal.aborted
    },
    explain(thrown) {
      if (signal.aborted) return signal.reason
      if (expired) return new UpstreamFailure('timeout', 'it did not answer in time')
      return thrown instanceof UpstreamFailure ? thrown : fromTransportError(thrown)
    },
  }
}
