/** What accounts were charged on their days beside what their keys of now have spent: it changes where a key leaves a charge behind. */
import type { AccountId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import { run, type Statements } from '../../statements.ts'
import { ACCOUNTS } from './accounts.ts'

/** What accounts were charged on their days, in parts. */
export const ACCOUNT_DAYS = `
  SELECT k.account_id, d.day, d.spent_nanos, d.requests FROM key_days d JOIN keys k ON k.id = d.key_id
  UNION ALL SELECT account_id, day, spent_nanos, requests FROM moved_days`

/** All that a key has spent stays behind with its account. Nothing is admitted or settled of either. */
export function* leave({ id, accountId: from }: ApiKey, to: AccountId): Statements<void> {
  for (const one of [from, to].sort()) yield* ACCOUNTS.lock(one)
  yield* run(
    `INSERT INTO moved_days AS m (account_id, day, spent_nanos, requests)
     SELECT side.account_id, day, sign * spent_nanos, sign * requests
     FROM key_days CROSS JOIN (VALUES ($from, 1), ($to, -1)) AS side (account_id, sign) WHERE key_id = $id
     ON CONFLICT (account_id, day) DO UPDATE SET spent_nanos = m.spent_nanos + excluded.spent_nanos, requests = m.requests + excluded.requests`,
    { id, from, to },
  )
}
