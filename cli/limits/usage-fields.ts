/** What is used of the limits of a key or an account, as fields of a record. */
import { dollars } from '#domain/money.ts'
import type { VerbRecord } from '#operator/verbs.ts'

type Account = VerbRecord<'accounts.show'>
type Window = NonNullable<VerbRecord<'keys.show'>['windows']['minute']>

export const windowOf = ({ limit, remaining, reset_seconds: resets }: Window): string =>
  `${remaining} of ${limit} left, resets in ${resets} s`

export const used = (count: number, limit: number | null): string =>
  limit === null ? `${count}, no limit` : `${count} of ${limit}`

export const spent = (usd: string, ceiling: string | null): string =>
  ceiling === null ? `${dollars(usd)}, no ceiling` : `${dollars(usd)} of ${dollars(ceiling)}`

/** Of the limits that an account has. */
export function usageFields(account: Account): readonly (readonly [string, string])[] {
  const { usage, concurrency_limit, daily_spend_limit_usd, monthly_spend_limit_usd } = account
  if (usage === null) return []
  const fields = [
    ['requests per minute', usage.minute && windowOf(usage.minute)],
    ['requests per day', usage.day && windowOf(usage.day)],
    ['tokens per minute', usage.tokens && windowOf(usage.tokens)],
    [
      'in progress',
      concurrency_limit === null ? null : used(usage.requests_in_progress, concurrency_limit),
    ],
    ['spent today', daily_spend_limit_usd && spent(usage.spend_day_usd, daily_spend_limit_usd)],
    [
      'spent this month',
      monthly_spend_limit_usd && spent(usage.spend_month_usd, monthly_spend_limit_usd),
    ],
  ] as const
  return fields.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
}
