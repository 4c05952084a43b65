/** The outcome of one delivery attempt: delivered, or a class of failure. The recipient's text is not kept. */

export type FailureClass =
  /** It exceeded the time limit. */
  | 'timeout'
  /** The name does not exist, or DNS failed. */
  | 'dns'
  | 'refused'
  | 'unreachable'
  /** The connection was closed early. */
  | 'reset'
  /** The certificate is not valid, or TLS is not available. */
  | 'tls'
  /** Any other network error. */
  | 'network'
  /** Not a success; `status` has the code. */
  | 'status'
  /** A redirect, which is not followed. */
  | 'redirect'
  /** The mail server does not accept the gateway's user and password. */
  | 'auth'
  /** The address is not allowed, or not https. */
  | 'forbidden_address'
  /** The account no longer has an address for this channel. */
  | 'no_address'
  /** There is no mail server. */
  | 'no_smtp'
  /** The webhook's secret is missing, or cannot be read with this master key. */
  | 'no_secret'
  /** The gateway's own fault. */
  | 'internal'

export interface Outcome {
  /** The HTTP status or the SMTP reply code, where one came. */
  readonly status: number | null
  /** Null if it was delivered. */
  readonly failure: FailureClass | null
  /** Whether a retry cannot succeed. */
  readonly isFinal?: true
  /** The recipient's `Retry-After`. */
  readonly retryAfterMs?: number
}

/** A failure before any answer. */
export const unanswered = (failure: FailureClass): Outcome => ({ status: null, failure })

const BY_WORD: readonly (readonly [RegExp, FailureClass])[] = [
  [/CERT|TLS|SSL|SELF.SIGNED|UNABLE_TO_VERIFY|LEAF_SIGNATURE/i, 'tls'],
  [/ENOTFOUND|EAI_|EDNS|ENODATA|ESERVFAIL/, 'dns'],
  [/ECONNREFUSED/, 'refused'],
  [/EHOSTUNREACH|ENETUNREACH/, 'unreachable'],
  [/TIMEDOUT|TimeoutError|ETIMEOUT/, 'timeout'],
  [/ECONNRESET|EPIPE|ECONNECTION|ConnectionClosed/, 'reset'],
]

/** The class of an error of DNS, connection or TLS. Its message may contain addresses and is dropped. */
export function classOf(thrown: unknown): FailureClass {
  if (!(thrown instanceof Error)) return 'network'
  const code = 'code' in thrown ? String(thrown.code) : ''
  const words = `${thrown.name} ${code} ${thrown.message}`
  return BY_WORD.find(([pattern]) => pattern.test(words))?.[1] ?? 'network'
}
