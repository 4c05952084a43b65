/** Rows of one table out of one engine and into the other, some at a time. */
import type { Database } from 'bun:sqlite'
import { withoutNul } from '../postgres/engine/bindings.ts'
import type { Sql } from '../postgres/engine/database.ts'
import type { MovedTable } from './tables.ts'

type Row = Readonly<Record<string, unknown>>

/** Told after each batch. */
export type Said = (table: string, rows: number) => void

export async function copyToPostgres(
  source: Database,
  tx: Sql,
  { table, from, rows }: MovedTable,
  said: Said,
): Promise<number> {
  const has = await tx.all<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ? AND is_generated = 'NEVER'`,
    table,
  )
  let copied = 0
  for (const batch of batchesOf(source, from, rows)) {
    const columns = sharedOf(has, batch)
    const list = columns.join(', ')
    copied += await tx.run(
      `INSERT INTO ${table} (${list}) OVERRIDING SYSTEM VALUE
       SELECT ${list} FROM json_populate_recordset(NULL::${table}, ?::text::json)`,
      JSON.stringify(
        batch
          .map((row) => columns.map((name) => [name, toJson(row[name])]))
          .map(Object.fromEntries),
      ),
    )
    said(table, copied)
  }
  return copied
}

function* batchesOf(source: Database, from: string, rows: number): Generator<readonly Row[]> {
  let batch: Row[] = []
  for (const row of source.query<Row, []>(from).iterate()) {
    batch.push(row)
    if (batch.length < rows) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** As PostgreSQL reads it. */
function toJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return typeof value === 'string' ? withoutNul(value) : value
}

export async function copyToSqlite(
  tx: Sql,
  target: Database,
  { table, from, rows }: MovedTable,
  said: Said,
): Promise<number> {
  const has = target
    .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
    .all(table)
  // A name of its own: what a statement answers is known by its text.
  const cursor = `moving_${table}`
  await tx.run(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${from}`)
  let copied = 0
  for (;;) {
    const batch = await tx.all<Row>(`FETCH ${rows} FROM ${cursor}`)
    if (batch.length === 0) break
    const columns = sharedOf(has, batch)
    const insert = target.query(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    )
    for (const row of batch) insert.run(...columns.map((name) => toSqlite(row[name])))
    copied += batch.length
    said(table, copied)
  }
  await tx.run(`CLOSE ${cursor}`)
  return copied
}

type SqliteValue = string | number | null | Uint8Array

const toSqlite = (value: unknown): SqliteValue =>
  typeof value === 'boolean' ? Number(value) : (value as SqliteValue)

/** Columns of the target that the rows have. */
const sharedOf = (has: readonly { readonly name: string }[], [row]: readonly Row[]): string[] =>
  has.map(({ name }) => name).filter((name) => row !== undefined && name in row)
