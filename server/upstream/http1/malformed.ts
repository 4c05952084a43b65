/** The failure of a provider whose answer breaks the rules of HTTP/1.1 (RFC 9112). */
import { UpstreamFailure } from '#domain/upstream.ts'

/** `why` says what was found, in words of ours. */
export const malformed = (why: string): UpstreamFailure =>
  new UpstreamFailure('failed', `its answer is not proper HTTP: ${why}`)
