/** Statements of the hot paths: written as SQL, prepared when first run, and kept; a short command prepares but a few. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'

/** Answers the statement, prepared on the first call. `Row` is what it selects, `Bindings` what it takes. */
export function statement<Row, Bindings extends SQLQueryBindings[] = []>(
  database: Database,
  sql: string,
): () => Statement<Row, Bindings> {
  let prepared: Statement<Row, Bindings> | null = null
  return () => {
    prepared ??= database.prepare(sql) as Statement<Row, Bindings>
    return prepared
  }
}
