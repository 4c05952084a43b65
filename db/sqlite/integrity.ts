/** What SQLite finds wrong with a database: pages, indexes, and rows that refer to nothing. */
import type { Database } from 'bun:sqlite'
import { troubleOf } from './disk.ts'

/** Empty when it is sound; the first twenty otherwise. */
export function integrityFindings(database: Database): readonly string[] {
  try {
    return look(database)
  } catch (error) {
    // Damaged beyond looking through it.
    if (troubleOf(error) === 'damaged' && error instanceof Error) return [error.message]
    throw error
  }
}

function look(database: Database): readonly string[] {
  const integrity = database
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check(20)')
    .all()
  const dangling = database.query<{ table: string }, []>('PRAGMA foreign_key_check').all()
  return [
    ...integrity.map((row) => row.integrity_check).filter((finding) => finding !== 'ok'),
    ...dangling.map(({ table }) => `a row of ${table} refers to nothing`),
  ]
}
