/**
 * Balances and day sums are updated once per transaction instead of once per request: a group's sums are written at its end,
 * in the same transaction as its entries.
 */
import type { SQLQueryBindings } from 'bun:sqlite'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { Connection } from '../engine/connection.ts'
import { statement } from '../engine/statement.ts'
import { openKeyDays } from './key-days.ts'

interface DaySum {
  readonly keyId: KeyId
  readonly day: Day
  /** Null in the sum of the whole key. */
  readonly endUser: string | null
  spent: bigint
  requests: number
}

export interface Sums {
  debit(accountId: AccountId, amount: UsdNanos): void
  /** Counts one request, for the key and for its end user where it names one. */
  spend(keyId: KeyId, day: Day, amount: UsdNanos, endUser: string | null): void
}

export function prepareSums(connection: Connection): Sums {
  const { database, commit } = connection
  const keyDays = openKeyDays(connection)
  const debit = statement<unknown, SQLQueryBindings[]>(
    database,
    'UPDATE accounts SET balance_nanos = balance_nanos - ? WHERE id = ?',
  )
  const addToEndUser = statement<unknown, SQLQueryBindings[]>(
    database,
    `INSERT INTO end_user_days (key_id, day, spent_nanos, requests, end_user) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (key_id, day, end_user) DO UPDATE
     SET spent_nanos = spent_nanos + excluded.spent_nanos, requests = requests + excluded.requests`,
  )
  let debits = new Map<AccountId, bigint>()
  let days = new Map<string, DaySum>()

  const add = (keyId: KeyId, day: Day, amount: UsdNanos, endUser: string | null): void => {
    const name = endUser === null ? `${keyId}/${day}` : `${keyId}/${day}/${endUser}`
    let sum = days.get(name)
    if (sum === undefined) {
      sum = { keyId, day, endUser, spent: 0n, requests: 0 }
      days.set(name, sum)
    }
    sum.spent += amount
    sum.requests++
  }

  commit.atClose({
    write() {
      for (const [accountId, amount] of debits) debit().run(Number(amount), accountId)
      for (const { keyId, day, spent, requests, endUser } of days.values()) {
        if (endUser === null) keyDays.add(keyId, day, spent as UsdNanos, requests)
        else addToEndUser().run(keyId, day, Number(spent), requests, endUser)
      }
    },
    forget() {
      // New ones, for the reason that roster.ts gives.
      debits = new Map()
      days = new Map()
    },
  })

  return {
    debit(accountId, amount) {
      debits.set(accountId, (debits.get(accountId) ?? 0n) + amount)
    },
    spend(keyId, day, amount, endUser) {
      add(keyId, day, amount, null)
      if (endUser !== null) add(keyId, day, amount, endUser)
    },
  }
}
