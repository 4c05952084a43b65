/**
 * Reads the two logs, which nothing examines at the start, so that overwritten bytes hide none of their rows: each is judged before
 * it is filtered, and a search is believed only where the rows beside the place that it led to are sound.
 */
import type { Database } from 'bun:sqlite'
import { desc, getTableColumns, gte, lt, type SQL, sql } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { unavailable } from './disk.ts'
import { nextTurn } from './next-turn.ts'
import { EVERYTHING, SLICE_ROWS, type Slice } from './slices.ts'

/** A table whose ids ascend with time. */
export interface Log<Table extends SQLiteTable> {
  readonly table: Table
  readonly id: SQLiteColumn
  readonly isId: (text: string) => boolean
  /** 0 where a row is as it was written, as far as its first and its last columns tell: noise seldom ends within a row. */
  readonly isUnsound: SQL
}

/** Each throws `store_unavailable` rather than answer without a row. */
export interface SoundLog<Row> {
  /** Newest first. Other requests pass between two slices. */
  newest(scope: SQL | undefined, bounds: Partial<Slice>, limit: number): Promise<readonly Row[]>
  count(scope: SQL | undefined, bounds: Partial<Slice>): Promise<number>
  find(id: string): Row | undefined
}

type WalkedRow = readonly [id: string, isUnsound: unknown, isInScope: unknown]

export function openSoundLog<Table extends SQLiteTable>(
  database: Database,
  log: Log<Table>,
): SoundLog<Table['$inferSelect']> {
  type Row = Table['$inferSelect']
  const { table, id, isId, isUnsound } = log
  const drizzle = openDrizzle({ client: database })
  const requireSoundBeside = prepareBeside(database, log)
  const byIds = drizzle
    .select({ row: getTableColumns(table), isUnsound })
    .from(table as SQLiteTable)
    .where(sql`${id} IN (SELECT value FROM json_each(${sql.placeholder('ids')}))`)
    .orderBy(desc(id))
    .prepare()

  const read = (ids: readonly string[]): readonly Row[] => {
    const found = byIds.all({ ids: JSON.stringify(ids) })
    if (found.some((one) => one.isUnsound !== 0)) throw unavailable('damaged')
    return found.map(({ row }) => row as Row)
  }

  /** The ids in scope of rows below `end`, `most` at most, and the last row that was looked at. No other is judged. */
  const judge = (rows: readonly WalkedRow[], end: string, from: string, most: number) => {
    const ids: string[] = []
    let last = end
    for (const [rowId, rowIsUnsound, isInScope] of rows) {
      if (ids.length === most || last < from) break
      if (rowIsUnsound !== 0 || !isId(rowId) || rowId >= last) throw unavailable('damaged')
      last = rowId
      if (isInScope === 1 && rowId >= from) ids.push(rowId)
    }
    return { ids, last }
  }

  /** Takes the ids in scope slice by slice, until there are `most`. */
  const walk = async (
    scope: SQL | undefined,
    bounds: Partial<Slice>,
    most: number,
    take: (ids: readonly string[]) => void,
  ): Promise<void> => {
    const { from, below } = { ...EVERYTHING, ...bounds }
    const slice = drizzle
      .select({ id, isUnsound, isInScope: sql`${scope ?? sql`1`}` })
      .from(table as SQLiteTable)
      .where(lt(id, sql.placeholder('end')))
      .orderBy(desc(id))
      .limit(sql.placeholder('size'))
      .prepare()
    let end = below
    let left = most
    // Damage far behind the newest keeps nobody from these.
    let size = Math.min(most, SLICE_ROWS)
    for (;;) {
      requireSoundBeside(end)
      const rows = slice.values({ end, size }) as unknown as readonly WalkedRow[]
      const { ids, last } = judge(rows, end, from, left)
      take(ids)
      left -= ids.length
      if (left === 0 || last < from || rows.length < size) return
      end = last
      size = SLICE_ROWS
      await nextTurn()
    }
  }

  return {
    async newest(scope, bounds, limit) {
      const found: Row[] = []
      await walk(scope, bounds, limit, (ids) => {
        const rows = read(ids)
        if (rows.length < ids.length) throw unavailable('damaged')
        found.push(...rows)
      })
      return found
    },
    async count(scope, bounds) {
      let found = 0
      await walk(scope, bounds, Number.POSITIVE_INFINITY, (ids) => {
        found += ids.length
      })
      return found
    },
    find(wanted) {
      const [row] = read([wanted])
      if (row === undefined) requireSoundBeside(wanted)
      return row
    },
  }
}

/** Looks at the rows on both sides of where an id is searched for: one whose id was overwritten may have led the search there. */
function prepareBeside(
  database: Database,
  { table, id, isUnsound, isId }: Log<SQLiteTable>,
): (wanted: string) => void {
  const drizzle = openDrizzle({ client: database })
  const wanted = sql.placeholder('wanted')
  const side = () => drizzle.select({ id, isUnsound }).from(table).limit(1).$dynamic()
  const sides = [
    side().where(gte(id, wanted)).orderBy(id).prepare(),
    side().where(lt(id, wanted)).orderBy(desc(id)).prepare(),
  ]
  return (wanted) => {
    for (const { id, isUnsound } of sides.flatMap((side) => side.all({ wanted }))) {
      if (isUnsound !== 0 || !isId(id as string)) throw unavailable('damaged')
    }
  }
}
