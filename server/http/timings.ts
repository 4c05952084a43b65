/** Time limits towards clients. */

export interface Timings {
  /** The time for receiving a body, against slow-body attacks. */
  readonly bodyDeadlineMs: number
  /** How long a stream's headers wait for the first event, so that an error can still have its own status (contract §7). */
  readonly headerWaitMs: number
  /** The interval of comments on a stream without data (contract §7). */
  readonly keepAliveMs: number
  /** A reader that leaves pending data unread for this long counts as disconnected. */
  readonly stalledReaderMs: number
}

/** How long a connection may be idle. */
export const IDLE_SECONDS = 120

export const DEFAULT_TIMINGS: Timings = {
  bodyDeadlineMs: 120_000,
  headerWaitMs: 10_000,
  keepAliveMs: 15_000,
  stalledReaderMs: 60_000,
}
