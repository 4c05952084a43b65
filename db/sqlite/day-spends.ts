/** What each account spent day by day, added up from its keys' days: a thousand keys at a time, requests pass in between. */
import type { AccountDaySpend } from '#domain/admission.ts'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { addUsd, NO_MONEY, type UsdNanos } from '#domain/money.ts'
import { fromInteger } from './amount.ts'
import type { Connection } from './connection.ts'
import { nextTurn } from './next-turn.ts'
import { statement } from './statement.ts'

const PAGE_KEYS = 1_000

interface DayRow {
  readonly account_id: AccountId
  readonly day: Day
  readonly spent_nanos: number
  readonly requests: number
}

type Page = { readonly after: string; readonly since: Day }

/** Keys first, then their days by primary key: the other way round all days of all times would be read. */
const DAYS = `
  SELECT account_id, day, sum(spent_nanos) AS spent_nanos, sum(requests) AS requests
  FROM (SELECT id, account_id FROM keys WHERE id > $after ORDER BY id LIMIT ${PAGE_KEYS}) AS page
  CROSS JOIN key_days ON key_days.key_id = page.id AND key_days.day >= $since
  GROUP BY account_id, day`

export function prepareDaySpends({ database, commit }: Connection) {
  const days = statement<DayRow, [Page]>(database, DAYS)
  const last = statement<{ id: KeyId | null }, [string]>(
    database,
    `SELECT max(id) AS id FROM (SELECT id FROM keys WHERE id > ? ORDER BY id LIMIT ${PAGE_KEYS})`,
  )
  return async (since: Day): Promise<readonly AccountDaySpend[]> => {
    commit.flush()
    const sums = new Map<string, AccountDaySpend>()
    for (let after = ''; ; await nextTurn()) {
      for (const row of days().all({ after, since })) addTo(sums, row)
      const end = last().get(after)?.id ?? null
      if (end === null) break
      after = end
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
