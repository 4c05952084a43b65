/** The failure for an answer that is not valid HTTP/1.1 (RFC 9112). */
import { UpstreamFailure } from '#domain/upstream.ts'

/** `why` must not quote the provider. */
export const malformed = (why: string): UpstreamFailure =>
  new UpstreamFailure('failed', `its answer is not proper HTTP: ${why}`)
