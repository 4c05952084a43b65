/** The request's own name: the client's if it is harmless in a header and a log, else a new one (contract §4). */
import type { Instant } from '#domain/clock.ts'
import { newRequestId } from '#domain/id.ts'
import { holdsSecret } from '#domain/secret.ts'

export const ACCEPTED_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** It is no identity: two requests may carry the same one. */
export function readRequestId(request: Request, at: Instant): string {
  const named = request.headers.get('x-request-id')
  const isHarmless = named !== null && ACCEPTED_ID.test(named) && !holdsSecret(named)
  return isHarmless ? named : newRequestId(at)
}
