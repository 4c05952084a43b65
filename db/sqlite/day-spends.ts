/** What each account spent day by day, added up from its keys' days: a thousand of them at a time, requests pass in between. */
import type { AccountDaySpend } from '#domain/admission.ts'
import type { Day } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { fromInteger } from './amount.ts'
import type { Connection } from './connection.ts'
import { type DayPlace, IN_STRETCH, prepareStretches, type Stretch } from './day-stretches.ts'
import { KEY_DAYS } from './key-days.ts'
import { nextTurn } from './next-turn.ts'
import { SLICE_ROWS } from './slices.ts'
import { statement } from './statement.ts'

interface DayRow {
  readonly account_id: AccountId
  readonly day: Day
  readonly spent_nanos: number
  readonly requests: number
}

const DAYS = `
  SELECT account_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
  FROM (SELECT * FROM ${KEY_DAYS} WHERE ${IN_STRETCH}) AS slice JOIN keys ON keys.id = slice.key_id
  GROUP BY account_id, day`

export function prepareDaySpends({ database, commit }: Connection) {
  const days = statement<DayRow, [Stretch]>(database, DAYS)
  const stretchAfter = prepareStretches(database, KEY_DAYS, SLICE_ROWS)
  return async (since: Day): Promise<readonly AccountDaySpend[]> => {
    commit.flush()
    const sums = new Map<string, AccountDaySpend>()
    let place: DayPlace = { day: since, key_id: '' }
    for (;;) {
      const { stretch, next } = stretchAfter(place)
      for (const row of days().all(stretch)) addTo(sums, row)
      if (next === null) break
      place = next
      await nextTurn()
    }
    return [...sums.values()].toSorted((a, b) => a.day - b.day)
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
