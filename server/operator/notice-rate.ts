/** How many low-balance notices the people of an account may cause: they are mails to an address that nobody has confirmed. */
import type { Account } from '#domain/account.ts'
import { DAY_MS, later } from '#domain/clock.ts'
import { isPersonName } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { tooOften } from './too-often.ts'

const SAID = {
  'thresholds.set': ['threshold_changes', 'people change the threshold of one account'],
  'thresholds.test': ['test_notices', 'people send test notices of one account'],
} as const

/** Of each within a day. A notice is due only where the threshold was changed since the last, and once a day as long as the account is low. */
const MOST = 10

/** What the operator's programs do besides is not counted; of what lies beyond, nothing. */
const MAX_READ = 1_000

/** @throws rate_limit_exceeded */
export async function requireNoticesLeft(
  { store, clock, actor }: OperatorDeps,
  { name: target }: Account,
  verb: keyof typeof SAID,
): Promise<void> {
  if (actor === undefined) return
  const at = clock.now()
  const since = later(at, 1 - DAY_MS)
  const done = await store.acts.list({ verb, target, since, limit: MAX_READ })
  const counted = done.filter(
    ({ who, changed }) =>
      isPersonName(who) && (verb === 'thresholds.test' || 'threshold_usd' in changed),
  )
  const oldest = counted[MOST - 1]
  if (oldest === undefined) return
  const [limit, what] = SAID[verb]
  throw tooOften(what, { limit, most: MOST, nextAt: later(oldest.at, DAY_MS) }, at)
}
