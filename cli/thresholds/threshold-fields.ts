/** The fields of a threshold for people. */
import { dollars } from '#domain/money.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Threshold = Pick<
  VerbRecord<'thresholds.show'>,
  'threshold_usd' | 'email' | 'webhook_url' | 'marked' | 'notified_at'
>

export const thresholdFields = (
  context: Context,
  { threshold_usd, email, webhook_url, marked, notified_at }: Threshold,
): readonly (readonly [string, string | null])[] => [
  ['alert below', threshold_usd === null ? null : dollars(threshold_usd)],
  ['e-mail', email],
  ['webhook', webhook_url],
  [
    'low',
    marked
      ? `yes, notified ${relativeTime(notified_at, context.clock.now())} (${notified_at})`
      : 'no',
  ],
]
