/** Rejects a request with a missing or malformed `Host`. */
import { GatewayError } from '#domain/errors.ts'

/** Bun passes on a relative or malformed URL if `Host` is missing or invalid; routing uses the path only. */
const WELL_FORMED = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/i

/** Two `Host` headers arrive joined by a comma. @throws invalid_request */
export function checkAddress(request: Request): void {
  if (WELL_FORMED.test(request.url) && !request.headers.get('host')?.includes(',')) return
  throw new GatewayError('invalid_request', 'the request has no single, well-formed Host')
}
