/** An error in the shape of Anthropic's Messages API: its status, its type, its envelope. */
import { ERROR_CODES, type ErrorCode, FAULT, type GatewayError } from '#domain/errors.ts'
import { UpstreamFailure } from '#domain/upstream.ts'

/** Codes whose status or type does not follow from the status of the contract. */
const BY_CODE: Partial<Readonly<Record<ErrorCode, readonly [status: number, type: string]>>> = {
  upstream_overloaded: [529, 'overloaded_error'],
  shutting_down: [529, 'overloaded_error'],
  upstream_timeout: [504, 'timeout_error'],
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  409: 'conflict_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
}

export const statusOf = (code: ErrorCode): number => BY_CODE[code]?.[0] ?? ERROR_CODES[code][0]

export const typeOf = (code: ErrorCode): string =>
  BY_CODE[code]?.[1] ?? TYPES[ERROR_CODES[code][0]] ?? 'api_error'

/** The JSON of `{"type": "error", …}`, in an answer and in an event of a stream alike. */
export function renderError(error: GatewayError, requestId: string): string {
  const { code, details } = error
  const { param, metadata } = details
  return JSON.stringify({
    type: 'error',
    error: {
      type: typeOf(code),
      message: messageOf(error),
      details: { code, ...(param !== undefined && { param }), ...metadata },
    },
    request_id: requestId,
  })
}

/**
 * What the provider said of a request that it refused is passed on in its own words, and a prompt that is too long is told in
 * them too, because clients look for these words and for the numbers in them.
 */
function messageOf({ code, message, details: { metadata, cause } }: GatewayError): string {
  if (code === 'internal_error') return FAULT
  if (cause instanceof UpstreamFailure && cause.kind === 'rejected') return cause.message
  const { limit, used, limit_value: most } = metadata ?? {}
  return code === 'context_length_exceeded' && limit === 'context_length'
    ? `prompt is too long: ${used} tokens > ${most} maximum; ${message}`
    : message
}
