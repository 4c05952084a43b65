/** What a consequential act would hit, as it runs at this moment: said before anybody agrees. */
import { later, MINUTE_MS, renderInstant } from '#domain/clock.ts'
import type { Context } from './context.ts'
import { call } from './operator.ts'

/** Enough to say that it is many. */
const MOST_COUNTED = 1_000

/** "41 requests in the last minute", "no request in the last minute". */
export async function recentRequests(
  context: Context,
  of: { readonly key?: string; readonly model?: string; readonly provider?: string },
): Promise<string> {
  const lines = await call(context, 'activity.list', {
    ...of,
    since: renderInstant(later(context.clock.now(), -MINUTE_MS)),
    limit: MOST_COUNTED,
  })
  const count =
    lines.length === MOST_COUNTED ? `more than ${MOST_COUNTED - 1}` : lines.length || 'no'
  return `${count} ${lines.length < 2 ? 'request' : 'requests'} in the last minute`
}
