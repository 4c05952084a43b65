/** What ails one of a provider's credentials, in few words: the same in `status`, in `providers show` and on the dashboard. */
import type { Instant } from '#domain/clock.ts'
import type { CredentialTroubleRecord } from '#operator/credential-trouble.ts'
import { timeLeft } from '../terminal/relative-time.ts'

/** "refused (401), resting 40s" */
export function describeTrouble(
  { reason, status, rests_until }: CredentialTroubleRecord,
  now: Instant,
): string {
  const left = timeLeft(rests_until, now)
  return [
    ...(reason === 'unauthorized' ? [`refused${status === null ? '' : ` (${status})`}`] : []),
    ...(left === null ? [] : [`resting ${left}`]),
  ].join(', ')
}
