/**
 * Balances and day sums are updated once per transaction instead of once per request: a group's sums are written at its end,
 * in the same transaction as its entries. They are bound as they are: one charge is below 2^53, the sum of several may be beyond it.
 */
import type { SQLQueryBindings } from 'bun:sqlite'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import type { UsdNanos } from '#domain/money.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { Connection } from '../engine/connection.ts'
import { ignoreTrouble } from '../engine/disk.ts'
import { statement } from '../engine/statement.ts'
import { DAYS_BEGIN, type DayRange, IN_DAY_RANGE, prepareDayRanges } from './day-ranges.ts'

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
  const debit = database.prepare<unknown, SQLQueryBindings[]>(
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
      for (const [accountId, amount] of debits) debit.run(amount, accountId)
      for (const { keyId, day, spent, requests, endUser } of days.values()) {
        if (endUser === null) keyDays.add(keyId, day, spent as UsdNanos, requests)
        else addToEndUser().run(keyId, day, spent, requests, endUser)
      }
    },
    forget() {
      // New ones, for the reason that `server/runtime/short-lived.ts` gives.
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

interface KeyDays {
  /** In the transaction that is open. */
  add(keyId: KeyId, day: Day, spent: UsdNanos, requests: number): void
}

/** Both tables, for reading: a sum is the total of its rows in both. */
export const KEY_DAYS = `(
  SELECT day, key_id, spent_nanos, requests FROM key_days
  UNION ALL
  SELECT day, key_id, spent_nanos, requests FROM resting_key_days)`

/** A megabyte of sums. */
const MAX_RECENT = 16_384
/** How many changes pass between two counts of the recent sums. */
const CHECK_AFTER = 4_096
/** Rows moved in one transaction; it takes some milliseconds. */
const REST_ROWS = 256

const ADD_UP = `
  ON CONFLICT (day, key_id) DO UPDATE
  SET spent_nanos = spent_nanos + excluded.spent_nanos, requests = requests + excluded.requests`

export function openKeyDays(
  { database, commit }: Connection,
  { mostRecent = MAX_RECENT, checkAfter = CHECK_AFTER, restRows = REST_ROWS } = {},
): KeyDays {
  const addTo = database.prepare<unknown, SQLQueryBindings[]>(
    `INSERT INTO key_days (key_id, day, spent_nanos, requests) VALUES (?, ?, ?, ?) ${ADD_UP}`,
  )
  const countRecent = statement<{ sums: number }>(database, 'SELECT count(*) AS sums FROM key_days')
  const carry = statement<unknown, [DayRange]>(
    database,
    `INSERT INTO resting_key_days (key_id, day, spent_nanos, requests)
     SELECT key_id, day, spent_nanos, requests FROM key_days WHERE ${IN_DAY_RANGE} ${ADD_UP}`,
  )
  const drop = statement<unknown, [DayRange]>(
    database,
    `DELETE FROM key_days WHERE ${IN_DAY_RANGE}`,
  )
  const rangeAfter = prepareDayRanges(database, 'key_days', restRows)
  let added = 0

  /** Moves all recent sums to the large table; rows that the disk refuses stay where they are. */
  const moveToResting = async (): Promise<void> => {
    if (!commit.writable || (countRecent().get()?.sums ?? 0) <= mostRecent) return
    let place = DAYS_BEGIN
    while (commit.writable) {
      const { range, next } = rangeAfter(place)
      const isDone = commit.tryWrite(() => {
        carry().run(range)
        drop().run(range)
      })
      if (!isDone || next === null) return
      place = next
      await nextTurn()
    }
  }

  return {
    add(keyId, day, spent, requests) {
      addTo.run(keyId, day, spent, requests)
      if (++added < checkAfter) return
      added = 0
      setImmediate(() => moveToResting().catch(ignoreTrouble))
    },
  }
}
