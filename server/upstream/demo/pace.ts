/** How fast a demo model generates. */

export interface Pace {
  /** Before the first word. */
  readonly delayMs: number
  /** Between two words; 0 for as fast as the client reads. */
  readonly gapMs: number
}

const MAX_DELAY_MS = 60_000
const FASTEST_RATE = 10_000

/**
 * Reads the pace from `user`: `rate-200` is 200 words a second, `delay-500` half a second before the first word; both may be
 * combined ("rate-200 delay-500"). Without them there is no pause.
 */
export function readPace(user: string | null): Pace {
  const rate = Number(/\brate-(\d{1,6})\b/.exec(user ?? '')?.[1] ?? 0)
  const delayMs = Number(/\bdelay-(\d{1,6})\b/.exec(user ?? '')?.[1] ?? 0)
  return {
    delayMs: Math.min(delayMs, MAX_DELAY_MS),
    gapMs: rate > 0 ? 1_000 / Math.min(rate, FASTEST_RATE) : 0,
  }
}
