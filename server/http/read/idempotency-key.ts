/** Reads the key by which a client may repeat a request. */
import { GatewayError } from '#domain/errors.ts'
import { rejectWholeKey } from '../bearer.ts'

const HEADER = 'Idempotency-Key'
export const PRINTABLE = /^[ -~]{1,255}$/

/** Null without the header. @throws invalid_request */
export function readIdempotencyKey(headers: Headers): string | null {
  const key = headers.get(HEADER)
  if (key === null) return key
  if (PRINTABLE.test(key)) {
    rejectWholeKey(key, HEADER)
    return key
  }
  throw new GatewayError('invalid_request', `${HEADER}: send 1 to 255 printable ASCII characters`, {
    param: HEADER,
  })
}
