/** A snapshot: everything that is committed by one moment, read on a connection of its own while the house writes on. */
import { Database } from 'bun:sqlite'
import type { Connection } from './connection.ts'
import { unavailable } from './group-commit.ts'

export interface Snapshot {
  /** Reads the snapshot; tables of its own are `TEMP`, and may grow beyond what memory should hold. */
  readonly database: Database
  close(): void
}

/**
 * Commits what is pending and holds still from here on. While it is open the log cannot be folded beyond it, so it is not
 * for keeping. @throws store_unavailable while the disk takes no writes
 */
export function openSnapshot({ database, commit }: Connection): Snapshot {
  commit.flush()
  if (!commit.writable) throw unavailable()
  const reading = database.filename === ':memory:' ? copy(database) : open(database.filename)
  reading.run('PRAGMA temp_store = FILE')
  return { database: reading, close: () => reading.close(true) }
}

/** What lives in memory has one connection, and is small. */
const copy = (database: Database): Database =>
  Database.deserialize(database.serialize(), { strict: true })

function open(path: string): Database {
  const reading = new Database(path, { readonly: true, strict: true })
  reading.run('BEGIN')
  // A transaction begins with its first read.
  reading.run('SELECT count(*) FROM sqlite_schema')
  return reading
}
