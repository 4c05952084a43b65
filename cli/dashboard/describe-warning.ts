/** The text of a warning, the same in `status` and on the dashboard. */
import type { Instant } from '#domain/clock.ts'
import { limitText } from '#operator/limit-warnings.ts'
import type { WarningRecord } from '#operator/snapshot/record.ts'
import { clean } from '../terminal/clean.ts'
import { relativeTime } from '../terminal/relative-time.ts'

/** `✖` where requests are refused until the period ends, `!` where the limit frees by itself or is not reached yet. */
export function describeWarning(
  warning: WarningRecord,
  now: Instant,
): { readonly mark: '✖' | '!'; readonly text: string } {
  const { isOver, text } = limitText(warning)
  const reached = relativeTime(warning.reached_at, now)
  const pace = reached === null ? '' : `, reached ${reached} at this pace`
  return { mark: isOver ? '✖' : '!', text: `${clean(text)}${pace}` }
}
