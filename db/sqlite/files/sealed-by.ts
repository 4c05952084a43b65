/** Which master keys have sealed the secrets of a database: each sealed text names its own, as `db/vault.ts` writes it. */
import { Database } from 'bun:sqlite'

/** The ids of the keys, those of providers' credentials first, of any schema: every column of sealed texts is called so. Empty where nothing is sealed. */
export function sealedBy(file: string): readonly string[] {
  const copy = new Database(file, { readonly: true, strict: true })
  try {
    const columns = copy
      .query<{ table: string; column: string }, []>(
        `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
          WHERE t.type = 'table' AND c.name LIKE 'sealed%' ORDER BY t.name NOT IN ('credentials', 'providers')`,
      )
      .all()
    const ids = columns.flatMap(({ table, column }) =>
      copy
        .query<{ id: string }, []>(
          `SELECT DISTINCT substr(${column}, 4, instr(substr(${column}, 4), '.') - 1) AS id FROM ${table} WHERE ${column} IS NOT NULL`,
        )
        .all()
        .map(({ id }) => id),
    )
    return [...new Set(ids)]
  } finally {
    copy.close(true)
  }
}
