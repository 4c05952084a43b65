/** What accounts were charged on each day: of their keys summed in slices, between which requests are served, and beside them. */
import {
  type AccountDaySpend,
  type KeyDaySpend,
  type KeyDaysQuery,
  MAX_KEY_DAYS,
} from '#domain/admission.ts'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import { fromInteger } from '../../rows/amount.ts'
import type { Connection } from '../engine/connection.ts'
import { LOOK_ROWS } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'
import { type DayPosition, type DayRange, IN_DAY_RANGE, prepareDayRanges } from './day-ranges.ts'
import { KEY_DAYS } from './sums.ts'

interface DayRow {
  readonly account_id: AccountId
  readonly day: Day
  readonly spent_nanos: number
  readonly requests: number
}

const DAYS = `
  SELECT account_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
  FROM (SELECT * FROM ${KEY_DAYS} WHERE ${IN_DAY_RANGE}) AS slice JOIN keys ON keys.id = slice.key_id
  GROUP BY account_id, day`

const BESIDE = 'SELECT account_id, day, spent_nanos, requests FROM moved_days WHERE day >= ?'

export function prepareDaySpends({ database, commit }: Connection) {
  const days = statement<DayRow, [DayRange]>(database, DAYS)
  const beside = statement<DayRow, [Day]>(database, BESIDE)
  const rangeAfter = prepareDayRanges(database, KEY_DAYS, LOOK_ROWS)
  return async (since: Day): Promise<readonly AccountDaySpend[]> => {
    commit.flushAwaited()
    const sums = new Map<string, AccountDaySpend>()
    for (const row of beside().all(since)) addTo(sums, row)
    let place: DayPosition = { day: since, key_id: '' }
    for (;;) {
      const { range, next } = rangeAfter(place)
      for (const row of days().all(range)) addTo(sums, row)
      if (next === null) break
      place = next
      await idleTurn()
    }
    // What a key has spent elsewhere is none of its account's days.
    const own = [...sums.values()].filter(({ spent, requests }) => spent > 0n || requests > 0)
    return own.toSorted((a, b) => a.day - b.day)
  }
}

interface KeyDayRow extends Omit<DayRow, 'account_id'> {
  readonly key_id: KeyId
}

type OfAccount = { readonly account: AccountId; readonly maker: string | null }

const DAYS_OF_KEYS = `
  SELECT key_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
  FROM (SELECT * FROM ${KEY_DAYS} WHERE ${IN_DAY_RANGE} AND day < $before) AS slice JOIN keys ON keys.id = slice.key_id
  WHERE account_id = $account AND ($maker IS NULL OR made_by = $maker)
  GROUP BY key_id, day`

const IS_MOVED = `
  SELECT 1 FROM moved_days
  WHERE account_id = ? AND day >= ? AND day < ? AND (spent_nanos <> 0 OR requests <> 0) LIMIT 1`

export function prepareKeyDaySpends({ database, commit }: Connection) {
  type OfSlice = DayRange & OfAccount & { readonly before: Day }
  const days = statement<KeyDayRow, [OfSlice]>(database, DAYS_OF_KEYS)
  const moved = statement<unknown, [AccountId, Day, Day]>(database, IS_MOVED)
  const rangeAfter = prepareDayRanges(database, KEY_DAYS, LOOK_ROWS)
  return async ({
    accountId: account,
    madeBy,
    since,
    before,
  }: KeyDaysQuery): Promise<readonly KeyDaySpend[] | null> => {
    commit.flushAwaited()
    const maker = madeBy ?? null
    const found: KeyDaySpend[] = []
    let place: DayPosition = { day: since, key_id: '' }
    for (;;) {
      const { range, next } = rangeAfter(place)
      for (const row of days().iterate({ ...range, account, maker, before })) {
        const { key_id: keyId, day, requests } = row
        found.push({ keyId, day, spent: fromInteger<UsdNanos>(row.spent_nanos), requests })
      }
      if (found.length > MAX_KEY_DAYS) return null
      if (next === null || next.day >= before) break
      place = next
      await idleTurn()
    }
    return moved().get(account, since, before) === null ? found : null
  }
}

function addTo(sums: Map<string, AccountDaySpend>, row: DayRow): void {
  const { account_id: accountId, day, requests } = row
  const name = `${accountId} ${day}`
  const known = sums.get(name)
  sums.set(name, {
    accountId,
    day,
    spent: addUsd(known?.spent ?? NO_MONEY, fromInteger<UsdNanos>(row.spent_nanos)),
    requests: (known?.requests ?? 0) + requests,
  })
}
