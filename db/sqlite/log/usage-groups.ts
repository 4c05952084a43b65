/** The groups of a usage report in a table of their own: there may be as many as end users. */
import type { Database } from 'bun:sqlite'
import type { RubMicros, UsdNanos } from '#domain/money.ts'
import {
  addSums,
  NO_SUM,
  subtractSums,
  type UsageReport,
  type UsageRow,
} from '#domain/usage-report.ts'
import { nextTurn } from '../engine/next-turn.ts'
import { SLICE_ROWS } from '../engine/slices.ts'
import { statement } from '../engine/statement.ts'

/** The two are texts, or numbers of days and hours; empty where there is no end user, no provider, or no second dimension. */
export type Group = {
  readonly first: string | number
  readonly second: string | number
  requests: number
  prompt: number
  completion: number
  images: number
  cost: bigint
  rub: bigint
}

export interface Groups {
  /** Adds to what is there of the same group. */
  put(group: Group): void
  report(top: number): Promise<UsageReport>
}

/** As text, because a sum may be larger than a number can tell. */
type GroupRow = Readonly<Omit<Group, 'cost' | 'rub'> & { cost: string; rub: string }>

const TABLE = `
  CREATE TEMP TABLE groups (
    first ANY, second ANY, requests INTEGER, prompt INTEGER, completion INTEGER, images INTEGER,
    cost INTEGER, rub INTEGER,
    PRIMARY KEY (first, second)
  ) STRICT, WITHOUT ROWID`

const PUT = `
  INSERT INTO temp.groups VALUES ($first, $second, $requests, $prompt, $completion, $images, $cost, $rub)
  ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,
    prompt = prompt + excluded.prompt, completion = completion + excluded.completion,
    images = images + excluded.images, cost = cost + excluded.cost, rub = rub + excluded.rub`

const NEXT = `
  SELECT first, second, requests, prompt, completion, images,
    CAST(cost AS TEXT) AS cost, CAST(rub AS TEXT) AS rub
  FROM temp.groups WHERE (first, second) > ($first, $second)
  ORDER BY first, second LIMIT ${SLICE_ROWS}`

/** Sorts before every text and every number that there is. */
const START = { first: -1, second: -1 }

export function openGroups(database: Database): Groups {
  database.run(TABLE)
  const put = statement<unknown, [Group]>(database, PUT)
  const next = statement<GroupRow, [Pick<GroupRow, 'first' | 'second'>]>(database, NEXT)

  async function* walk(): AsyncGenerator<readonly GroupRow[], void> {
    let place: Pick<GroupRow, 'first' | 'second'> = START
    for (;;) {
      const rows = next().all(place)
      yield rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < SLICE_ROWS) return
      place = { first: last.first, second: last.second }
      await nextTurn()
    }
  }

  return {
    put: (group) => void put().run(group),
    async report(top) {
      let topRows: UsageRow[] = []
      let total = NO_SUM
      let groups = 0
      for await (const rows of walk()) {
        for (const row of rows.map(toRow)) {
          total = addSums(total, row)
          groups++
          topRows.push(row)
        }
        if (topRows.length > 2 * top) topRows = topRows.sort(byCost).slice(0, top)
      }
      const rows = topRows.sort(byCost).slice(0, top)
      return {
        rows,
        other: subtractSums(total, rows.reduce(addSums, NO_SUM)),
        others: groups - rows.length,
        total,
      }
    },
  }
}

const toRow = ({ first, second, ...row }: GroupRow): UsageRow => ({
  by: first === '' ? null : first,
  thenBy: second === '' ? null : second,
  requests: row.requests,
  promptTokens: row.prompt,
  completionTokens: row.completion,
  images: row.images,
  cost: BigInt(row.cost) as UsdNanos,
  costRub: BigInt(row.rub) as RubMicros,
})

/** The table's own order settles what is alike: the sort is stable. */
function byCost(a: UsageRow, b: UsageRow): number {
  if (a.cost !== b.cost) return a.cost < b.cost ? 1 : -1
  return b.requests - a.requests
}
