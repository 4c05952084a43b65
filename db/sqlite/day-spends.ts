/** What each account spent day by day, added up from its keys' days: a thousand of them at a time, requests pass in between. */
import type { AccountDaySpend } from '#domain/admission.ts'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { fromInteger } from './amount.ts'
import type { Connection } from './connection.ts'
import { nextTurn } from './next-turn.ts'
import { SLICE_ROWS } from './slices.ts'
import { statement } from './statement.ts'

interface DayRow {
  readonly account_id: AccountId
  readonly day: Day
  readonly spent_nanos: number
  readonly requests: number
}

/** Where a slice begins: behind this. */
type Place = { readonly day: Day; readonly key_id: KeyId | '' }

const SLICE = `FROM key_days WHERE (day, key_id) > ($day, $key_id) ORDER BY day, key_id`

const DAYS = `
  SELECT account_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
  FROM (SELECT * ${SLICE} LIMIT ${SLICE_ROWS}) AS slice JOIN keys ON keys.id = slice.key_id
  GROUP BY account_id, day`

export function prepareDaySpends({ database, commit }: Connection) {
  const days = statement<DayRow, [Place]>(database, DAYS)
  const last = statement<Place, [Place]>(
    database,
    `SELECT day, key_id ${SLICE} LIMIT 1 OFFSET ${SLICE_ROWS - 1}`,
  )
  return async (since: Day): Promise<readonly AccountDaySpend[]> => {
    commit.flush()
    const sums = new Map<string, AccountDaySpend>()
    for (let place: Place = { day: since, key_id: '' }; ; await nextTurn()) {
      for (const row of days().all(place)) addTo(sums, row)
      const end = last().get(place)
      if (end === null) break
      place = end
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
