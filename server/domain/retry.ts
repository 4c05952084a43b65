/** When the same hop is asked once more: the failure may pass, nothing of an answer had come, and nobody pays twice. */
import type { ChatRequest } from './chat.ts'
import type { UpstreamFailure } from './upstream.ts'

/** Long enough for a load balancer to find another server, too short for a person to notice. */
const PAUSE_MS = 250
/** Who is asked to wait longer than this is the client, who knows how much time it has. */
const LONGEST_PAUSE_MS = 2_000

/**
 * How long to wait before the same hop is asked again: the provider's own word where it said one; null where asking again is
 * not tried. It is tried when a provider broke, or is overloaded for a moment. Not after a time-out: the client has waited
 * that long already. Not for a picture: the one that never came may have been drawn and billed. Not where exactly one attempt
 * was asked for (contract §7).
 */
export function pauseBeforeRetryMs(
  { kind, details }: UpstreamFailure,
  { allowFallbacks, wantsImages }: ChatRequest,
): number | null {
  if (!allowFallbacks || wantsImages || details.permanent) return null
  if (kind !== 'failed' && kind !== 'overloaded') return null
  const { retryAfterSeconds } = details
  const pauseMs = retryAfterSeconds === undefined ? PAUSE_MS : retryAfterSeconds * 1_000
  return pauseMs <= LONGEST_PAUSE_MS ? pauseMs : null
}
