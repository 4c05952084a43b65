/** When the same hop is retried: the failure may be temporary, no part of an answer arrived, and nothing is billed twice. */
import type { ChatRequest } from '../chat.ts'
import type { UpstreamFailure } from '../upstream.ts'

/** Long enough for a load balancer to pick another server, too short to be noticed. */
const PAUSE_MS = 250
/** A longer wait is left to the client, which knows how much time it has. */
const MAX_PAUSE_MS = 2_000

/**
 * The pause before retrying the same hop: the provider's `Retry-After` if it sent one; null for no retry. A retry follows a
 * failed or briefly overloaded provider. No retry after a time-out, because the client has already waited that long; nor for
 * an image, because the missing one may have been generated and billed; nor where the request allows only one attempt
 * (contract §7).
 */
export function pauseBeforeRetryMs(
  { kind, details }: UpstreamFailure,
  { allowFallbacks, wantsImages }: ChatRequest,
): number | null {
  if (!allowFallbacks || wantsImages || details.permanent) return null
  if (kind !== 'failed' && kind !== 'overloaded') return null
  const { retryAfterSeconds } = details
  const pauseMs = retryAfterSeconds === undefined ? PAUSE_MS : retryAfterSeconds * 1_000
  return pauseMs <= MAX_PAUSE_MS ? pauseMs : null
}
