/** A temporary table on disk with every sum twice: computed from the ledger, and as stored. */
import type { Database } from 'bun:sqlite'
import type { Day } from '#domain/clock.ts'
import type { AccountId, KeyId } from '#domain/id.ts'
import { addUsd, type UsdNanos } from '#domain/money.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import type { SumRow } from '../../money/audit.ts'
import { SLICE_ROWS } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'
import { addLedger } from './audit-ledger.ts'

export interface Sums {
  /** Every row once, in slices. */
  walk(): AsyncGenerator<readonly SumRow[], void>
  /** What the ledger adds up to for an account. */
  balance(id: AccountId): UsdNanos
  /** What it adds up to for a key, from a day on and before another. */
  spent(id: KeyId, from: Day, before: Day): UsdNanos
  /** The same for an account, which may have a hundred thousand keys: in slices. */
  spentOf(id: AccountId, from: Day, before: Day): Promise<UsdNanos>
}

/** Sums the whole ledger and reads all stored sums, in slices. */
export async function addUp(database: Database): Promise<Sums & { readonly entries: number }> {
  database.run(TABLE)
  const entries = await addLedger(database)
  const put = statement<unknown, [KeptRow]>(database, PUT)
  for (const sql of KEPT) {
    for await (const rows of pagesOf<KeptRow>(database, sql)) {
      for (const row of rows) put().run(row)
    }
  }
  return { entries, ...readSums(database) }
}

const TABLE = `
  CREATE TEMP TABLE sums (
    what TEXT, subject TEXT, day INTEGER, end_user TEXT,
    added INTEGER DEFAULT 0, kept INTEGER DEFAULT 0,
    charges INTEGER DEFAULT 0, requests INTEGER DEFAULT 0,
    PRIMARY KEY (what, subject, day, end_user)
  ) WITHOUT ROWID`

type Place = {
  readonly what: string
  readonly subject: string
  readonly day: number
  readonly end_user: string
}

type KeptRow = Place & {
  /** As text, because a sum may exceed 2^53; the table makes an integer of it. */
  readonly kept: string
  readonly requests: number
}

const keyDaysOf = (table: string): string =>
  `SELECT 'key_day' AS what, key_id AS subject, day, '' AS end_user, CAST(spent_nanos AS TEXT) AS kept, requests
   FROM ${table} WHERE (day, key_id, '') > ($day, $subject, $end_user) ORDER BY day, key_id`

/** What is kept, in the order of its own table's key; what two tables have of one day of a key is added up. */
const KEPT = [
  `SELECT 'balance' AS what, id AS subject, 0 AS day, '' AS end_user, CAST(balance_nanos AS TEXT) AS kept, 0 AS requests
   FROM accounts WHERE (id, 0, '') > ($subject, $day, $end_user) ORDER BY id`,
  keyDaysOf('key_days'),
  keyDaysOf('resting_key_days'),
  `SELECT 'moved_day' AS what, account_id AS subject, day, '' AS end_user, CAST(spent_nanos AS TEXT) AS kept, 0 AS requests
   FROM moved_days WHERE (day, account_id, '') > ($day, $subject, $end_user) ORDER BY day, account_id`,
  `SELECT 'end_user_day' AS what, key_id AS subject, day, end_user, CAST(spent_nanos AS TEXT) AS kept, requests
   FROM end_user_days WHERE (day, key_id, end_user) > ($day, $subject, $end_user)
   ORDER BY day, key_id, end_user`,
]

const PUT = `
  INSERT INTO temp.sums (what, subject, day, end_user, kept, requests)
  VALUES ($what, $subject, $day, $end_user, $kept, $requests)
  ON CONFLICT DO UPDATE SET kept = kept + excluded.kept, requests = requests + excluded.requests`

/** Sorts before every row. */
const START: Place = { what: '', subject: '', day: 0, end_user: '' }

/** The rows of a query that continues after a place, a slice at a time. */
async function* pagesOf<Row extends Place>(
  database: Database,
  sql: string,
): AsyncGenerator<readonly Row[], void> {
  const next = statement<Row, [Place]>(database, `${sql} LIMIT ${SLICE_ROWS}`)
  let place: Place = START
  for (;;) {
    const rows = next().all(place)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE_ROWS) return
    const { what, subject, day, end_user } = last
    place = { what, subject, day, end_user }
    await nextTurn()
  }
}

type BesideRow = Place & {
  readonly added: string
  readonly kept: string
  readonly charges: number
  readonly requests: number
}

/** Money as text, as above. */
const BESIDE = `
  SELECT what, subject, day, end_user, CAST(added AS TEXT) AS added, CAST(kept AS TEXT) AS kept, charges, requests
  FROM temp.sums WHERE (what, subject, day, end_user) > ($what, $subject, $day, $end_user)
  ORDER BY what, subject, day, end_user`

const toSum = ({ end_user: endUser, added, kept, ...row }: BesideRow): SumRow => ({
  ...(row as Pick<SumRow, 'what' | 'subject' | 'day' | 'charges' | 'requests'>),
  endUser,
  ledger: BigInt(added) as UsdNanos,
  kept: BigInt(kept) as UsdNanos,
})

type OfAccount = { readonly id: AccountId; readonly from: Day; readonly before: Day }
type OfKeys = OfAccount & { readonly after: string }

/** Of some of an account's keys of now. */
const SPENT_OF_KEYS = `
  SELECT max(id) AS last, CAST(coalesce(sum(spent), 0) AS TEXT) AS added FROM (
    SELECT id, (SELECT sum(added) FROM temp.sums
      WHERE what = 'key_day' AND subject = page.id AND day >= $from AND day < $before) AS spent
    FROM (SELECT id FROM keys WHERE account_id = $id AND id > $after ORDER BY id LIMIT ${SLICE_ROWS}) AS page)`

function readSums(database: Database): Sums {
  const added = (whose: string) => `SELECT CAST(coalesce(sum(added), 0) AS TEXT) AS added
    FROM temp.sums WHERE ${whose}`
  const balance = statement<{ added: string }, [AccountId]>(
    database,
    added("what = 'balance' AND subject = ?"),
  )
  const spent = statement<{ added: string }, [KeyId, Day, Day]>(
    database,
    added("what = 'key_day' AND subject = ? AND day >= ? AND day < ?"),
  )
  const beside = statement<{ added: string }, [OfAccount]>(
    database,
    added("what = 'moved_day' AND subject = $id AND day >= $from AND day < $before"),
  )
  const ofKeys = statement<{ added: string; last: KeyId | null }, [OfKeys]>(database, SPENT_OF_KEYS)
  const read = (row: { readonly added: string } | null) => BigInt(row?.added ?? 0) as UsdNanos
  return {
    async *walk() {
      for await (const rows of pagesOf<BesideRow>(database, BESIDE)) yield rows.map(toSum)
    },
    balance: (id) => read(balance().get(id)),
    spent: (id, from, before) => read(spent().get(id, from, before)),
    async spentOf(id, from, before) {
      let sum = read(beside().get({ id, from, before }))
      for (let after: string | null = ''; after !== null; ) {
        const slice = ofKeys().get({ id, from, before, after })
        sum = addUsd(sum, read(slice))
        after = slice?.last ?? null
        await nextTurn()
      }
      return sum
    },
  }
}
