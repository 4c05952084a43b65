/** What a consequential act would hit, as it runs at this moment: said before anybody agrees. */
import { later, MINUTE_MS, renderInstant } from '#domain/clock.ts'
import type { Context } from '../context.ts'
import { call } from './operator.ts'

/** Enough to say that it is many. */
const MOST_COUNTED = 1_000

type Subject = { readonly key: string } | { readonly model: string } | { readonly provider: string }

/** "41 requests in the last minute", "no request in the last minute"; of several together. Asks nobody under `--yes`. */
export async function recentRequests(
  context: Context,
  ...subjects: readonly Subject[]
): Promise<string> {
  if (context.yes) return ''
  const since = renderInstant(later(context.clock.now(), -MINUTE_MS))
  let count = 0
  for (const subject of subjects) {
    const lines = await call(context, 'activity.list', { ...subject, since, limit: MOST_COUNTED })
    count += lines.length
  }
  const shownCount = count >= MOST_COUNTED ? `${MOST_COUNTED} or more` : count || 'no'
  return `${shownCount} ${count < 2 ? 'request' : 'requests'} in the last minute`
}

/** "6 in flight (they will finish)", "none in flight" */
export const inFlight = (running: number): string =>
  running === 0
    ? 'none in flight'
    : `${running} in flight (${running === 1 ? 'it' : 'they'} will finish)`
