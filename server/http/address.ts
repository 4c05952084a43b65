/** Refuses a request whose address cannot be trusted to mean what it says. */
import { GatewayError } from '#domain/errors.ts'

/** Bun hands on a relative or absurd address when `Host` is missing or broken; routes are chosen by path alone. */
const WELL_FORMED = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(?:[/?#]|$)/i

/** Two `Host` fields arrive joined by a comma. @throws invalid_request */
export function checkAddress(request: Request): void {
  if (WELL_FORMED.test(request.url) && !request.headers.get('host')?.includes(',')) return
  throw new GatewayError('invalid_request', 'the request has no single, well-formed Host')
}
