/** The text of a warning, the same in `status` and on the dashboard. */
import type { Instant } from '#domain/clock.ts'
import type { WarningRecord } from '#operator/snapshot/record.ts'
import { clean } from '../terminal/clean.ts'
import { relativeTime } from '../terminal/relative-time.ts'

const LIMITS = {
  rpm: 'RPM limit',
  rpd: 'RPD limit',
  tpm: 'TPM limit',
  concurrency: 'concurrency limit',
  day: 'daily ceiling',
  month: 'monthly ceiling',
} as const

/** `✖` where requests are refused until the period ends, `!` where the limit frees by itself or is not reached yet. */
export function describeWarning(
  { key_name, what, level, used, limit, reached_at }: Omit<WarningRecord, 'key_id'>,
  now: Instant,
): { readonly mark: '✖' | '!'; readonly text: string } {
  const key = clean(key_name)
  if (what !== 'day' && what !== 'month') {
    return { mark: '!', text: `${key} is at its ${LIMITS[what]} of ${limit}` }
  }
  const ceiling = `${LIMITS[what]} of $${limit}`
  if (level === 100) return { mark: '✖', text: `${key} reached its ${ceiling}` }
  const reached = relativeTime(reached_at, now)
  const pace = reached === null ? '' : `, reached ${reached} at this pace`
  return { mark: '!', text: `${key} spent $${used} of its ${ceiling}${pace}` }
}
