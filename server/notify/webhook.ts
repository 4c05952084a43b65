/** Posts one webhook, signed for this attempt, to a checked address. Only the status of the response is used. */
import { type Instant, unixSeconds } from '#domain/clock.ts'
import type { Notice } from '#domain/notice.ts'
import type { DestinationPolicy } from '#outbound/policy.ts'
import { readRetryAfter } from '#outbound/retry-after.ts'
import { type Outcome, unanswered } from './outcome.ts'
import { postUntrusted } from './post-untrusted.ts'
import { sign } from './signature.ts'

export interface Webhook extends Pick<Notice, 'eventId' | 'body'> {
  readonly url: string
  readonly key: Uint8Array
}

/** `signal` aborts a try that takes too long. */
export async function postWebhook(
  { eventId, body, url, key }: Webhook,
  policy: DestinationPolicy,
  at: Instant,
  signal: AbortSignal,
): Promise<Outcome> {
  const triedAt = unixSeconds(at)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': eventId,
    'webhook-timestamp': String(triedAt),
    'webhook-signature': sign(key, eventId, triedAt, body),
  }
  const answer = await postUntrusted(url, { headers, body }, policy, signal)
  return typeof answer === 'string' ? unanswered(answer) : judge(answer)
}

/** Statuses with which `Retry-After` is honoured. */
const RETRY_AFTER_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

function judge({ ok, status, headers }: Response): Outcome {
  if (ok) return { status, failure: null }
  if (status >= 300 && status < 400) return { status, failure: 'redirect' }
  if (status === 410) return { status, failure: 'status', isFinal: true }
  const seconds = RETRY_AFTER_STATUSES.has(status) ? readRetryAfter(headers) : undefined
  return { status, failure: 'status', ...(seconds && { retryAfterMs: seconds * 1_000 }) }
}
