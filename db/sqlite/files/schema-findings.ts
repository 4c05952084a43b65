/** What a database has otherwise than its migrations made it: a trigger or an index that somebody dropped, changed or added. */
import { Database } from 'bun:sqlite'
import type { SchemaFinding } from '#domain/store.ts'
import { migrate } from '../engine/migrate.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from '../engine/schema-version.ts'
import { MIGRATIONS } from '../migrations/index.ts'

/** Empty when it is as its own migrations make it. */
export function schemaFindings(database: Database): readonly SchemaFinding[] {
  const made = partsAt(schemaVersion(database))
  const found = readParts(database)
  const differing = [...made].flatMap(([what, sql]): SchemaFinding[] => {
    const other = found.get(what)
    if (other === sql) return []
    return [{ what, is: other === undefined ? 'missing' : 'changed' }]
  })
  const added = [...found.keys()].filter((what) => !made.has(what))
  return [...differing, ...added.map((what): SchemaFinding => ({ what, is: 'added' }))]
}

function partsAt(version: number): ReadonlyMap<string, string> {
  const empty = new Database(':memory:', { strict: true })
  try {
    // The migrations one by one take forty milliseconds, in which a gateway that is asked answers nobody.
    if (version === NEWEST_SCHEMA_VERSION) migrate(empty, ':memory:')
    else for (const sql of MIGRATIONS.slice(0, version)) empty.run(sql)
    return readParts(empty)
  } finally {
    empty.close(true)
  }
}

interface Part {
  readonly type: string
  readonly name: string
  readonly tbl_name: string
  readonly sql: string
}

/** Without those of the engine itself: its own indexes, and what ANALYZE leaves. */
const PARTS = `SELECT type, name, tbl_name, sql FROM sqlite_schema
  WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name`

/** "index keys_by_age of keys" to the statement that made it. */
const readParts = (database: Database): ReadonlyMap<string, string> =>
  new Map(
    database
      .query<Part, []>(PARTS)
      .all()
      .map(({ type, name, tbl_name, sql }) => [
        type === 'table' ? `table ${name}` : `${type} ${name} of ${tbl_name}`,
        plain(sql),
      ]),
  )

/** Engines write names with and without quotes when they rename; comments and spaces make no difference. */
const plain = (sql: string): string =>
  sql
    .replace(/--[^\n]*/g, ' ')
    .replaceAll('"', '')
    .replace(/\s+/g, ' ')
    .trim()
