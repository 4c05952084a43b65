/** Timings: how long the API waits for a client, and how long it lets a stream be silent. */

export interface Timings {
  /** A request's body must have arrived by then (hardening against a body that drips). */
  readonly bodyDeadlineMs: number
  /** A stream's status is held this long for the upstream's first word, so that it can still be a refusal (contract §7). */
  readonly headerHoldMs: number
  /** Silence on a stream is filled with a comment this often (contract §7). */
  readonly keepAliveMs: number
  /** A reader that takes nothing for this long, with something waiting, is treated as gone. */
  readonly stalledReaderMs: number
}

export const DEFAULT_TIMINGS: Timings = {
  bodyDeadlineMs: 120_000,
  headerHoldMs: 10_000,
  keepAliveMs: 15_000,
  stalledReaderMs: 60_000,
}
