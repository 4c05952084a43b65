/**
 * Reads the two logs, which nothing examines at the start, so that overwritten bytes hide none of their rows: each is judged before
 * it is filtered, and a search is believed only where the rows beside the place that it led to are sound.
 */
import type { Database } from 'bun:sqlite'
import { desc, getTableColumns, gte, lt, type SQL, sql } from 'drizzle-orm'
import { drizzle as openDrizzle } from 'drizzle-orm/bun-sqlite'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { idleTurn } from '#runtime/next-turn.ts'
import type { Slice } from '../../rows/slice.ts'
import { unavailable } from './disk.ts'
import { EVERYTHING, LOOK_ROWS } from './slices.ts'

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
  /** The same among so many rows; and the last that was looked at, null where the page is full or none is left. */
  search(
    scope: SQL | undefined,
    bounds: Partial<Slice>,
    limit: number,
    lines: number,
  ): Promise<{ readonly rows: readonly Row[]; readonly searchedTo: string | null }>
  count(scope: SQL | undefined, bounds: Partial<Slice>): Promise<number>
  find(id: string): Row | undefined
}

const EVERY_ROW = { most: Number.POSITIVE_INFINITY, lines: Number.POSITIVE_INFINITY }

type WalkedRow = readonly [id: string, isUnsound: unknown, isInScope: unknown]

export function openSoundLog<Table extends SQLiteTable>(
  database: Database,
  log: Log<Table>,
): SoundLog<Table['$inferSelect']> {
  type Row = Table['$inferSelect']
  const { table, id, isId, isUnsound } = log
  const drizzle = openDrizzle({ client: database })
  const requireSoundBeside = prepareBeside(database, log)
  const readAll = prepareReadAll(database, log)

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

  /** Takes the ids in scope slice by slice, until there are `most`, or `lines` were looked at: then the last of these. */
  const walk = async (
    scope: SQL | undefined,
    bounds: Partial<Slice>,
    { most, lines }: { readonly most: number; readonly lines: number },
    take: (ids: readonly string[]) => void,
  ): Promise<string | null> => {
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
    let unseen = lines
    // Damage far behind the newest keeps nobody from these.
    let size = Math.min(most, unseen, LOOK_ROWS)
    for (;;) {
      requireSoundBeside(end)
      const rows = slice.values({ end, size }) as unknown as readonly WalkedRow[]
      const { ids, last } = judge(rows, end, from, left)
      take(ids)
      left -= ids.length
      if (left === 0 || last < from || rows.length < size) return null
      unseen -= rows.length
      if (unseen === 0) return last
      end = last
      size = Math.min(unseen, LOOK_ROWS)
      await idleTurn()
    }
  }

  const search: SoundLog<Row>['search'] = async (scope, bounds, limit, lines) => {
    const rows: Row[] = []
    const searchedTo = await walk(scope, bounds, { most: limit, lines }, (ids) => {
      const read = readAll(ids)
      if (read.length < ids.length) throw unavailable('damaged')
      rows.push(...read)
    })
    return { rows, searchedTo }
  }

  return {
    search,
    async newest(scope, bounds, limit) {
      return (await search(scope, bounds, limit, Number.POSITIVE_INFINITY)).rows
    },
    async count(scope, bounds) {
      let found = 0
      await walk(scope, bounds, EVERY_ROW, (ids) => {
        found += ids.length
      })
      return found
    },
    find(wanted) {
      const [row] = readAll([wanted])
      if (row === undefined) requireSoundBeside(wanted)
      return row
    },
  }
}

/** Rows by their ids, newest first: each sound, or none. */
function prepareReadAll<Table extends SQLiteTable>(
  database: Database,
  { table, id, isUnsound }: Log<Table>,
): (ids: readonly string[]) => readonly Table['$inferSelect'][] {
  const byIds = openDrizzle({ client: database })
    .select({ row: getTableColumns(table), isUnsound })
    .from(table as SQLiteTable)
    .where(sql`${id} IN (SELECT value FROM json_each(${sql.placeholder('ids')}))`)
    .orderBy(desc(id))
    .prepare()
  return (ids) => {
    const found = byIds.all({ ids: JSON.stringify(ids) })
    if (found.some((one) => one.isUnsound !== 0)) throw unavailable('damaged')
    return found.map(({ row }) => row as Table['$inferSelect'])
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
