/** Reads which limits of accounts and their keys are all used, or soon will be. */
import type { Account } from '#domain/account.ts'
import { dayOf, dayStart, monthStart } from '#domain/clock.ts'
import { withSpending } from '#domain/key-report.ts'
import { FIGURES_MS, readSpan } from '#domain/snapshot/figures.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { OperatorDeps } from './deps.ts'
import { accountWarnings, keyWarnings } from './limit-warnings.ts'
import { MAX_KEYS, readKeys } from './snapshot/keys.ts'
import type { WarningRecord } from './snapshot/record.ts'

/** Without a running server only spend limits are checked, of keys used this month. */
export async function readLimits(
  deps: OperatorDeps,
  accounts: readonly Account[],
): Promise<readonly WarningRecord[]> {
  const { watch, clock } = deps
  const found: WarningRecord[] = []
  for (const account of accounts) {
    // Requests pass between two accounts: there may be thousands.
    await nextTurn()
    if (watch) {
      const span = readSpan(watch.pulse.endings, clock.now(), FIGURES_MS)
      found.push(...(await readKeys(deps, account, span)).keys.warnings)
    } else found.push(...(await readCeilings(deps, account)))
  }
  return found
}

async function readCeilings(
  deps: OperatorDeps,
  account: Account,
): Promise<readonly WarningRecord[]> {
  const { store, clock } = deps
  const now = clock.now()
  const { keys } = await store.keys.list({
    accountId: account.id,
    includeRevoked: false,
    limit: MAX_KEYS,
  })
  const since = dayStart(monthStart(dayOf(now)))
  const judged = keys.filter(
    ({ lastUsedAt, limits }) =>
      lastUsedAt !== null &&
      lastUsedAt >= since &&
      (limits.dailySpend !== null || limits.monthlySpend !== null),
  )
  const ofKeys = await withSpending(store.admissions, judged, now)
  return [
    ...(await accountWarnings(deps, account)),
    ...ofKeys.flatMap(([key, spending]) => keyWarnings(key, account, spending, null, now)),
  ]
}
