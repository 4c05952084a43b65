/** Maps a provider's status or a transport error to a kind of failure, which decides about fallback (contract §3). */
import type { GatewayError } from '#domain/errors.ts'
import { type FailureKind, UpstreamFailure } from '#domain/upstream.ts'
import { descriptorsExhausted } from './descriptors.ts'

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: 'rejected',
  404: 'rejected',
  413: 'rejected',
  422: 'rejected',
  401: 'unauthorized',
  402: 'unauthorized',
  403: 'unauthorized',
  408: 'timeout',
  429: 'overloaded',
  529: 'overloaded',
}

export const kindOfStatus = (status: number): FailureKind => KINDS[status] ?? 'failed'

/** Codes of an established connection that was lost, as opposed to one that was never established. */
const CONNECTION_LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ConnectionClosed'])

const MESSAGES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refused the connection',
  ConnectionRefused: 'it refused the connection',
  ENOTFOUND: 'its name is not known',
  ETIMEDOUT: 'it could not be reached',
  EHOSTUNREACH: 'it could not be reached',
  ENETUNREACH: 'it could not be reached',
  EPROTO: 'it does not speak TLS',
}

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''

/** Whether an established connection was lost. */
export const isConnectionLost = (thrown: unknown): boolean => CONNECTION_LOST.has(codeOf(thrown))

/**
 * The failure for a transport error; a GatewayError when the gateway had no file descriptor to connect with. The runtime's
 * error contains the full address, so only its code is passed on.
 */
export function fromTransportError(thrown: unknown): UpstreamFailure | GatewayError {
  const code = codeOf(thrown)
  if (CONNECTION_LOST.has(code)) return new UpstreamFailure('failed', 'the connection broke off')
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
    return new UpstreamFailure('failed', `its certificate was not accepted (${code})`)
  }
  return (
    descriptorsExhausted(thrown) ??
    new UpstreamFailure('failed', MESSAGES[code] ?? 'the connection failed')
  )
}
