/** The request id: the client's if it is safe in a header and a log, else a new one (contract §4). */
import type { Instant } from '#domain/clock.ts'
import { newRequestId } from '#domain/id.ts'
import { holdsSecret } from '#domain/secret.ts'

export const ACCEPTED_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** Not unique: two requests may have the same id. */
export function readRequestId(request: Request, at: Instant): string {
  const named = request.headers.get('x-request-id')
  const isHarmless = named !== null && ACCEPTED_ID.test(named) && !holdsSecret(named)
  return isHarmless ? named : newRequestId(at)
}
