/** Lines of the JSON log on standard error: what `serve --log json` says beside its requests. */
import { type Clock, renderInstant } from '#domain/clock.ts'
import { toJson } from './clean.ts'

type Level = 'info' | 'warn' | 'error'

/** One line: its time, level and message, and fields of its own. */
export const logLine = (
  clock: Clock,
  level: Level,
  msg: string,
  more: Readonly<Record<string, unknown>> = {},
): string => `${toJson({ ts: renderInstant(clock.now()), level, msg, ...more }, 0)}\n`

/** A note as such a line: `! ` before it makes it a warning, and its further lines are the hint. */
export function noteLine(clock: Clock, text: string): string {
  const [first = '', ...rest] = text.split('\n').map((line) => line.trim())
  const isWarning = first.startsWith('! ')
  const msg = isWarning ? first.slice(2) : first
  return logLine(clock, isWarning ? 'warn' : 'info', msg, {
    ...(rest.length > 0 && { hint: rest.join(' ') }),
  })
}
