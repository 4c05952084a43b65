/** A separate connection for large reads, with temporary tables on disk. */
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
  if (commit.trouble() === 'moved') throw unavailable('moved')
  const { filename } = database
  const reading = filename === ':memory:' ? copy(database) : open(filename)
  reading.run('PRAGMA temp_store = FILE')
  return { database: reading, close: () => reading.close(true) }
}

/**
 * A consistent snapshot of everything committed so far. While it is open, checkpoints cannot go beyond it; the one after that
 * takes tens of milliseconds per hundred megabytes, so use it only where one consistent state is needed.
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
