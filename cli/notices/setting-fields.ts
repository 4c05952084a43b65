/** The settings of notices for people. */
import type { VerbRecord } from '#operator/verbs.ts'

export const settingFields = ({
  email,
  webhook_url,
  ceiling_percents,
  quiet,
  digest_at,
  wakes_for_critical,
}: VerbRecord<'notices.settings'>): readonly (readonly [string, string | null])[] => [
  ['e-mail', email],
  ['webhook', webhook_url],
  ['ceilings at', ceiling_percents.map((percent) => `${percent}%`).join(', ') || null],
  ['quiet hours', quiet === null ? null : `${quiet} UTC`],
  ['digest at', digest_at === null ? null : `${digest_at} UTC`],
  ['wakes for', wakes_for_critical ? 'critical' : 'nothing'],
]
