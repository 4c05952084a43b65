/** What an empty database is made of: all migrations at once, worked out when the program is built. */
import { Database } from 'bun:sqlite'
import { MIGRATIONS } from './index.ts'

interface Part {
  readonly type: string
  readonly name: string
  readonly sql: string
}

/** Import it `with { type: 'macro' }`: a program that ran the migrations one by one would take as long for them as for its start. */
export function newestSchema(): string {
  const made = new Database(':memory:', { strict: true })
  try {
    for (const sql of MIGRATIONS) made.run(sql)
    const parts = made
      .query<Part, []>(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite|_%' ESCAPE '|'",
      )
      .all()
    const tables = parts.filter(({ type }) => type === 'table')
    const rest = parts.filter(({ type }) => type !== 'table')
    return [
      ...tables.map(({ sql }) => sql),
      // Before the triggers, which would look at them.
      ...tables.flatMap(({ name }) => rowsOf(made, name)),
      ...rest.map(({ sql }) => sql),
    ].join(';\n')
  } finally {
    made.close(true)
  }
}

/** The few rows that migrations leave in an empty database. */
function rowsOf(made: Database, table: string): string[] {
  const columns = made
    .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
    .all(table)
    .map(({ name }) => `quote("${name}")`)
  return made
    .query<{ row: string }, []>(`SELECT ${columns.join(" || ', ' || ")} AS row FROM "${table}"`)
    .all()
    .map(({ row }) => `INSERT INTO "${table}" VALUES (${row})`)
}
