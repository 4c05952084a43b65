/** What accounts were charged on their days beside what their keys of now have spent: it changes where a key leaves a charge behind. */
import type { Database } from 'bun:sqlite'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { UsdNanos } from '#domain/money.ts'
import { run, type Statements } from '../../statements.ts'
import { statement } from '../engine/statement.ts'
import { KEY_DAYS } from './sums.ts'

const ADD_UP = `
  ON CONFLICT (day, account_id) DO UPDATE
  SET spent_nanos = spent_nanos + excluded.spent_nanos, requests = requests + excluded.requests`

/** All that a key has spent stays behind with its account. Each day is looked up: the sums are in the order of days. */
const LEAVE = `
  WITH RECURSIVE
    ends (first, last) AS (SELECT min(first), max(last) FROM (
      SELECT (SELECT min(day) FROM key_days) AS first, (SELECT max(day) FROM key_days) AS last
      UNION ALL SELECT (SELECT min(day) FROM resting_key_days), (SELECT max(day) FROM resting_key_days))),
    days (day) AS (SELECT first FROM ends UNION ALL SELECT day + 1 FROM days WHERE day < (SELECT last FROM ends)),
    spent AS (SELECT days.day, spent_nanos, requests FROM days CROSS JOIN ${KEY_DAYS} AS sums ON sums.day = days.day AND key_id = $key)
  INSERT INTO moved_days (account_id, day, spent_nanos, requests)
  SELECT account_id, day, sum(spent_nanos), sum(requests) FROM spent JOIN keys ON id = $key WHERE account_id <> $to GROUP BY day
  UNION ALL
  SELECT $to, day, -sum(spent_nanos), -sum(requests) FROM spent JOIN keys ON id = $key WHERE account_id <> $to GROUP BY day
  ${ADD_UP}`

/** Nothing where its key is still in the account that pays. */
const STAY = `
  INSERT INTO moved_days (account_id, day, spent_nanos, requests)
  SELECT $payer, $day, $spent, 1 FROM keys WHERE id = $key AND account_id <> $payer
  UNION ALL SELECT account_id, $day, -$spent, -1 FROM keys WHERE id = $key AND account_id <> $payer
  ${ADD_UP}`

/** Before the key is in the other account. */
export const leave = ({ id }: ApiKey, to: AccountId): Statements<number> =>
  run(LEAVE, { key: id, to })

type Stayed = {
  readonly payer: AccountId
  readonly key: KeyId
  readonly day: Day
  readonly spent: number
}

/** Of a request that its key has not waited for. */
export function prepareStay(
  database: Database,
): (payer: AccountId, key: KeyId, day: Day, spent: UsdNanos) => void {
  const stay = statement<unknown, [Stayed]>(database, STAY)
  return (payer, key, day, spent) => {
    stay().run({ payer, key, day, spent: Number(spent) })
  }
}
