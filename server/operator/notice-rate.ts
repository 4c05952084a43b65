/** How many low-balance notices the people of an account may cause: they are mails to an address that nobody has confirmed. */
import type { Account } from '#domain/account.ts'
import { DAY_MS, later, renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { OperatorDeps } from './deps.ts'

/** Within a day, tests among them. */
const MAX_CAUSED_NOTICES = 20

/** Of other kinds there may be more: what lies beyond is not counted. */
const MAX_READ = 1_000

/** @throws rate_limit_exceeded */
export async function requireNoticesLeft(
  { store, clock, actor }: OperatorDeps,
  { id: accountId }: Account,
): Promise<void> {
  if (actor === undefined) return
  const at = clock.now()
  const since = later(at, -DAY_MS)
  const events = new Map(
    (await store.notices.list({ accountId, limit: MAX_READ }))
      .filter(({ type, createdAt }) => type === 'gateway.low_balance' && createdAt > since)
      .map(({ eventId, createdAt }) => [eventId, createdAt]),
  )
  const oldest = [...events.values()][MAX_CAUSED_NOTICES - 1]
  if (oldest === undefined) return
  const nextAt = later(oldest, DAY_MS)
  throw new GatewayError(
    'rate_limit_exceeded',
    `at most ${MAX_CAUSED_NOTICES} low-balance notices of one account are sent within a day: the next can be sent at ${renderInstant(nextAt)}`,
    {
      metadata: {
        limit: 'low_balance_notices',
        limit_value: MAX_CAUSED_NOTICES,
        resets_at: renderInstant(nextAt),
      },
      retryAfterSeconds: Math.max(1, Math.ceil((nextAt - at) / 1000)),
    },
  )
}
