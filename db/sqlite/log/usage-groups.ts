/** The groups of a usage report: in memory, and in a table of their own where they are many, as end users may be. */
import type { Database } from 'bun:sqlite'
import type { Instant } from '#domain/clock.ts'
import type { RubMicros, UsdNanos } from '#domain/money.ts'
import {
  addSums,
  byCost,
  NO_SUM,
  subtractSums,
  type UsageReport,
  type UsageRow,
} from '#domain/usage-report.ts'
import { idleTurn } from '#runtime/next-turn.ts'
import { LOOK_ROWS } from '../engine/slices.ts'
import { MAX_SUMS_IN_MEMORY, spill } from '../engine/spill.ts'
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

/** What is added up of a request. */
export interface Line {
  readonly first: string | number
  readonly second: string | number
  readonly prompt: number
  readonly completion: number
  readonly images: number
  readonly cost: number
  readonly rub: number
  /** When it was admitted. */
  readonly at: Instant
}

export interface Groups {
  addLine(line: Line): void
  /** The sums of a group, to those of the one that is called so; `name`: its `nameOf`, where that is known. */
  add(group: Readonly<Group>, first: Group['first'], second: Group['second'], name?: string): void
  /** Now and then, so that they do not fill the memory. */
  spillIfMany(): Promise<void>
  report(top: number): Promise<UsageReport>
}

/** A name may have any character in it, so that its length has to tell where it ends. */
export const nameOf = ({ first, second }: Pick<Group, 'first' | 'second'>): string =>
  `${String(first).length}:${first}${second}`

export const newGroup = (first: Group['first'], second: Group['second']): Group => ({
  ...{ first, second, requests: 0, prompt: 0, completion: 0, images: 0, cost: 0n, rub: 0n },
})

export function addLine(sum: Group, line: Line): void {
  sum.requests++
  sum.prompt += line.prompt
  sum.completion += line.completion
  sum.images += line.images
  sum.cost += BigInt(line.cost)
  sum.rub += BigInt(line.rub)
}

function addGroup(sum: Group, group: Readonly<Group>): void {
  sum.requests += group.requests
  sum.prompt += group.prompt
  sum.completion += group.completion
  sum.images += group.images
  sum.cost += group.cost
  sum.rub += group.rub
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
  ORDER BY first, second LIMIT ${LOOK_ROWS}`

/** Sorts before every text and every number that there is. */
const START = { first: -1, second: -1 }

/** `open`: a connection that may write temporary tables, for as many groups as need one. */
export function openGroups(open: () => Database): Groups {
  const sums = new Map<string, Group>()
  let table: ReturnType<typeof openTable> | null = null

  const sumOf = (name: string, first: Group['first'], second: Group['second']): Group => {
    const known = sums.get(name)
    if (known !== undefined) return known
    const sum = newGroup(first, second)
    sums.set(name, sum)
    return sum
  }
  const put = async (): Promise<void> => {
    table ??= openTable(open())
    await spill(sums, table.put)
  }

  return {
    addLine: (line) => addLine(sumOf(nameOf(line), line.first, line.second), line),
    add: (group, first, second, name = nameOf({ first, second })) =>
      addGroup(sumOf(name, first, second), group),
    async spillIfMany() {
      if (sums.size >= MAX_SUMS_IN_MEMORY) await put()
    },
    async report(top) {
      if (table !== null) await put()
      const rows = table === null ? [[...sums.values()].sort(byName)] : table.walk()
      let topRows: UsageRow[] = []
      let total = NO_SUM
      let groups = 0
      for await (const some of rows) {
        for (const row of some.map(toRow)) {
          total = addSums(total, row)
          groups++
          topRows.push(row)
        }
        if (topRows.length > 2 * top) topRows = topRows.sort(byCost).slice(0, top)
      }
      const shown = topRows.sort(byCost).slice(0, top)
      return {
        rows: shown,
        other: subtractSums(total, shown.reduce(addSums, NO_SUM)),
        others: groups - shown.length,
        total,
      }
    },
  }
}

function openTable(database: Database) {
  database.run(TABLE)
  const put = statement<unknown, [Group]>(database, PUT)
  const next = statement<GroupRow, [Pick<GroupRow, 'first' | 'second'>]>(database, NEXT)
  return {
    /** Adds to what is there of the same group. */
    put: (group: Group) => void put().run(group),
    async *walk(): AsyncGenerator<readonly Group[], void> {
      let place: Pick<GroupRow, 'first' | 'second'> = START
      for (;;) {
        const rows = next().all(place)
        yield rows.map((row) => ({ ...row, cost: BigInt(row.cost), rub: BigInt(row.rub) }))
        const last = rows.at(-1)
        if (last === undefined || rows.length < LOOK_ROWS) return
        place = { first: last.first, second: last.second }
        await idleTurn()
      }
    },
  }
}

const toRow = ({ first, second, ...row }: Group): UsageRow => ({
  by: first === '' ? null : first,
  thenBy: second === '' ? null : second,
  requests: row.requests,
  promptTokens: row.prompt,
  completionTokens: row.completion,
  images: row.images,
  cost: row.cost as UsdNanos,
  costRub: row.rub as RubMicros,
})

/** As the table has them. */
function byName(a: Group, b: Group): number {
  if (a.first !== b.first) return a.first < b.first ? -1 : 1
  return a.second < b.second ? -1 : 1
}
