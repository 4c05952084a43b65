/** A connection of its own for whoever reads much, with tables of its own that may grow beyond what memory should hold. */
import { Database } from 'bun:sqlite'
import type { Connection } from './connection.ts'
import { unavailable } from './disk.ts'

export interface Reading {
  /** Its own tables are `TEMP`; the others it cannot write. */
  readonly database: Database
  close(): void
}

/** Everything committed by now, and what is committed meanwhile. @throws store_unavailable while the disk takes no writes */
export function openReading({ database, commit }: Connection): Reading {
  commit.flush()
  if (!commit.writable) throw unavailable()
  const { filename } = database
  const reading = filename === ':memory:' ? copy(database) : open(filename)
  reading.run('PRAGMA temp_store = FILE')
  return { database: reading, close: () => reading.close(true) }
}

/**
 * Everything committed by now, and nothing else. The log is not folded beyond it while it is open, and all at once after
 * that: some tens of milliseconds for a hundred megabytes, so it is for what needs one moment only.
 */
export function openSnapshot(connection: Connection): Reading {
  const reading = openReading(connection)
  reading.database.run('BEGIN')
  // A transaction begins with its first read.
  reading.database.run('SELECT count(*) FROM sqlite_schema')
  return reading
}

const open = (path: string): Database => new Database(path, { readonly: true, strict: true })

/** What lives in memory has one connection, and is small. */
const copy = (database: Database): Database =>
  Database.deserialize(database.serialize(), { strict: true })
