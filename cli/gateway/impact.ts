/** Current traffic that a destructive command would affect, for its confirmation. */
import { later, MINUTE_MS, renderInstant } from '#domain/clock.ts'
import type { Context } from '../context.ts'
import { call } from './operator.ts'

/** Beyond this the exact count does not matter. */
const MAX_COUNTED = 1_000

type Subject = { readonly key: string } | { readonly model: string } | { readonly provider: string }

/** "41 requests in the last minute", "no request in the last minute"; summed over `subjects`. Skipped under `--yes`. */
export async function recentRequests(
  context: Context,
  ...subjects: readonly Subject[]
): Promise<string> {
  if (context.yes) return ''
  const since = renderInstant(later(context.clock.now(), -MINUTE_MS))
  let count = 0
  for (const subject of subjects) {
    const lines = await call(context, 'activity.list', { ...subject, since, limit: MAX_COUNTED })
    count += lines.length
  }
  const shownCount = count >= MAX_COUNTED ? `${MAX_COUNTED} or more` : count || 'no'
  return `${shownCount} ${count < 2 ? 'request' : 'requests'} in the last minute`
}

/** "6 in flight (they will finish)", "none in flight" */
export const inFlight = (running: number): string =>
  running === 0
    ? 'none in flight'
    : `${running} in flight (${running === 1 ? 'it' : 'they'} will finish)`
