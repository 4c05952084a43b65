/** The ledger, added up: in memory while the sums are few, and put down in the table of sums before they are many. */
import type { Database } from 'bun:sqlite'
import { nextTurn } from './next-turn.ts'
import { SLICE_ROWS, slicesOf } from './slices.ts'
import { statement } from './statement.ts'

/** Some megabytes. Entries of one time come together, so that few sums are put down more than once. */
const MOST_SUMS_IN_MEMORY = 20_000

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
}

const ENTRIES = `
  SELECT account_id, kind, amount_nanos, key_id, day, end_user FROM ledger
  WHERE id >= ? AND id < ?`

const ADD = `
  INSERT INTO temp.sums (what, subject, day, end_user, added, charges)
  VALUES ($what, $subject, $day, $end_user, $added, $charges)
  ON CONFLICT DO UPDATE SET added = added + excluded.added, charges = charges + excluded.charges`

/** Adds every entry to its sums in `temp.sums`. @returns how many there are */
export async function addLedger(database: Database): Promise<number> {
  const entriesOf = statement<EntryRow, [string, string]>(database, ENTRIES)
  const add = statement<unknown, [Sum]>(database, ADD)
  const sums = new Map<string, Sum>()
  const putDown = async (): Promise<void> => {
    let rows = 0
    for (const sum of sums.values()) {
      add().run(sum)
      if (++rows % SLICE_ROWS === 0) await nextTurn()
    }
    sums.clear()
  }
  let entries = 0
  for await (const { from, below } of slicesOf(database, 'ledger')) {
    for (const entry of entriesOf().iterate(from, below)) {
      addEntry(sums, entry)
      entries++
    }
    if (sums.size >= MOST_SUMS_IN_MEMORY) await putDown()
  }
  await putDown()
  return entries
}

function addEntry(sums: Map<string, Sum>, entry: EntryRow): void {
  const { account_id, kind, amount_nanos, key_id, day, end_user } = entry
  const amount = BigInt(amount_nanos)
  addTo(sums, 'balance', account_id, 0, '', amount, 0)
  if (kind !== 'charge') return
  addTo(sums, 'key_day', key_id, day, '', -amount, 1)
  if (end_user !== null) addTo(sums, 'end_user_day', key_id, day, end_user, -amount, 1)
}

function addTo(
  sums: Map<string, Sum>,
  what: string,
  subject: string,
  day: number,
  end_user: string,
  amount: bigint,
  charges: number,
): void {
  const name = `${what}/${subject}/${day}/${end_user}`
  const sum = sums.get(name)
  if (sum === undefined) {
    sums.set(name, { what, subject, day, end_user, added: amount, charges })
    return
  }
  sum.added += amount
  sum.charges += charges
}
