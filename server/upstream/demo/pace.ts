/** How fast a demo model speaks, and waiting that ends at once when the client leaves. */
import type { UpstreamCall } from '#domain/upstream.ts'

export interface Pace {
  /** Before the first word. */
  readonly delayMs: number
  /** Between two words; 0 speaks as fast as it is listened to. */
  readonly gapMs: number
}

const LONGEST_DELAY_MS = 60_000
const FASTEST_RATE = 10_000

/**
 * Reads the pace out of `user`: `rate-200` is 200 words a second, `delay-500` half a second before the first; both may
 * stand together ("rate-200 delay-500"). Without them there is no pause.
 */
export function readPace(user: string | null): Pace {
  const rate = Number(/\brate-(\d{1,6})\b/.exec(user ?? '')?.[1] ?? 0)
  const delayMs = Number(/\bdelay-(\d{1,6})\b/.exec(user ?? '')?.[1] ?? 0)
  return {
    delayMs: Math.min(delayMs, LONGEST_DELAY_MS),
    gapMs: rate > 0 ? 1_000 / Math.min(rate, FASTEST_RATE) : 0,
  }
}

/** Waits, also for 0 ms, which lets others work. @throws the signal's reason as soon as it is given */
export function pause(ms: number, { signal }: Pick<UpstreamCall, 'signal'>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal.addEventListener('abort', leave, { once: true })
  })
}
