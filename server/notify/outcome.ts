/** What came of one try at bringing a notice: arrived, or a class of failure. What the other side said in words is not kept. */

export type FailureClass =
  /** It took longer than a try may. */
  | 'timeout'
  /** The name is not known, or nobody could be asked. */
  | 'dns'
  | 'refused'
  | 'unreachable'
  /** The connection broke off. */
  | 'reset'
  /** The certificate was not accepted, or TLS is not to be had. */
  | 'tls'
  /** Any other failure of the line. */
  | 'network'
  /** An answer that is no success; its number is in `status`. */
  | 'status'
  /** A redirect, which is not followed. */
  | 'redirect'
  /** The mail server does not accept the gateway's user and password. */
  | 'auth'
  /** The address lies where nothing may be sent, or is not https. */
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
  /** Null when it arrived. */
  readonly failure: FailureClass | null
  /** It would fail every time, so it is not tried again. */
  readonly isFinal?: true
  /** How long the other side wants to be left alone. */
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

/** The class of what resolver, connection or TLS threw; its own words may hold addresses, and go no further. */
export function classOf(thrown: unknown): FailureClass {
  if (!(thrown instanceof Error)) return 'network'
  const code = 'code' in thrown ? String(thrown.code) : ''
  const words = `${thrown.name} ${code} ${thrown.message}`
  return BY_WORD.find(([pattern]) => pattern.test(words))?.[1] ?? 'network'
}
