/** Settings: the few numbers an operator may turn, each with its default, its unit and its bounds. */

export interface Settings {
  /** Output tokens held for a request that states no maximum (contract §8). */
  readonly reserveOutputTokens: number
  /** How long it may take until a connection to an upstream stands, its name found and its certificate accepted. */
  readonly connectTimeoutMs: number
  /** How long an upstream may take to its first byte, the connection included. */
  readonly firstByteTimeoutMs: number
  /** How long an upstream may be silent between two pieces. */
  readonly silenceTimeoutMs: number
  /** How long one request may take in all. */
  readonly totalTimeoutMs: number
}

export const DEFAULT_SETTINGS: Settings = {
  reserveOutputTokens: 4096,
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 120_000,
  silenceTimeoutMs: 120_000,
  totalTimeoutMs: 1_800_000,
}
