/** Settings that an operator may change, with their defaults and units. */

export interface Settings {
  /** The bound of an answer is not lowered below it for want of money; held where nothing else bounds it (contract §8). */
  readonly reserveOutputTokens: number
  /** How long a request waits for holds of others to end; 0: not at all (contract §8). */
  readonly reserveWaitMs: number
  /** What the bodies of requests and the answers that wait for their reader may take of memory. */
  readonly memoryBudgetBytes: number
  /** Connecting to an upstream, including DNS and TLS. */
  readonly connectTimeoutMs: number
  /** Until the first byte of an upstream's answer, including the connection. */
  readonly firstByteTimeoutMs: number
  /** Silence of an upstream between two chunks. */
  readonly silenceTimeoutMs: number
  /** One request in total, over all attempts. */
  readonly totalTimeoutMs: number
}

export const DEFAULT_SETTINGS: Settings = {
  reserveOutputTokens: 4096,
  reserveWaitMs: 30_000,
  memoryBudgetBytes: 256 * 1024 * 1024,
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 120_000,
  silenceTimeoutMs: 120_000,
  totalTimeoutMs: 1_800_000,
}
