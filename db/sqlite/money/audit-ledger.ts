/** Sums the ledger in memory, and spills the sums to a temporary table before they become many. */
import type { Database } from 'bun:sqlite'
import { slices } from '../engine/slices.ts'
import { MAX_SUMS_IN_MEMORY, spill } from '../engine/spill.ts'
import { statement } from '../engine/statement.ts'

type Sum = {
  readonly what: string
  readonly subject: string
  readonly day: number
  readonly end_user: string
  added: bigint
  charges: number
}

interface EntryRow {
  readonly account_id: string
  readonly kind: string
  readonly amount_nanos: number
  readonly key_id: string
  readonly day: number
  readonly end_user: string | null
  /** The account that its key is in now; null without one. */
  readonly home: string | null
}

const ENTRIES = `
  SELECT ledger.account_id, ledger.kind, amount_nanos, key_id, day, end_user, keys.account_id AS home
  FROM ledger LEFT JOIN keys ON keys.id = key_id WHERE ledger.id >= ? AND ledger.id < ?`

const ADD = `
  INSERT INTO temp.sums (what, subject, day, end_user, added, charges)
  VALUES ($what, $subject, $day, $end_user, $added, $charges)
  ON CONFLICT DO UPDATE SET added = added + excluded.added, charges = charges + excluded.charges`

/** Adds every entry to its sums in `temp.sums`. @returns how many there are */
export async function addLedger(database: Database): Promise<number> {
  const entriesOf = statement<EntryRow, [string, string]>(database, ENTRIES)
  const add = statement<unknown, [Sum]>(database, ADD)
  const put = (sum: Sum) => add().run(sum)
  const balances = new Map<string, Sum>()
  const spent = new Map<string, Sum>()
  let entries = 0
  const spillAll = async (): Promise<void> => {
    await spill(daysOf(spent), put)
    await spill(spent, put)
    await spill(balances, put)
  }
  for await (const { from, below } of slices(database, 'ledger')) {
    for (const entry of entriesOf().iterate(from, below)) {
      addEntry(balances, spent, entry)
      entries++
    }
    if (spent.size >= MAX_SUMS_IN_MEMORY) await spillAll()
  }
  await spillAll()
  return entries
}

/**
 * A key's spend is summed per end user (and without one), and added to the key's days when it is spilled; what it spent in another
 * account than it is in now, beside it for both.
 */
function addEntry(balances: Map<string, Sum>, spent: Map<string, Sum>, entry: EntryRow): void {
  const { account_id, kind, amount_nanos, key_id, day, end_user, home } = entry
  const amount = BigInt(amount_nanos)
  sumIn(balances, account_id, 'balance', account_id, 0, '').added += amount
  if (kind !== 'charge') return
  const what = end_user === null ? 'key_day' : 'end_user_day'
  const name = `${what}/${key_id}/${day}/${end_user}`
  const sum = sumIn(spent, name, what, key_id, day, end_user ?? '')
  sum.added -= amount
  sum.charges++
  if (home === null || home === account_id) return
  sumIn(spent, `${account_id}/${day}`, 'moved_day', account_id, day, '').added -= amount
  sumIn(spent, `${home}/${day}`, 'moved_day', home, day, '').added += amount
}

/** The days of keys that the sums of end users add up to. */
function daysOf(spent: ReadonlyMap<string, Sum>): Map<string, Sum> {
  const days = new Map<string, Sum>()
  for (const { what, subject, day, added, charges } of spent.values()) {
    if (what !== 'end_user_day') continue
    const sum = sumIn(days, `${subject}/${day}`, 'key_day', subject, day, '')
    sum.added += added
    sum.charges += charges
  }
  return days
}

function sumIn(
  sums: Map<string, Sum>,
  name: string,
  what: string,
  subject: string,
  day: number,
  end_user: string,
): Sum {
  const known = sums.get(name)
  if (known) return known
  const sum = { what, subject, day, end_user, added: 0n, charges: 0 }
  sums.set(name, sum)
  return sum
}
