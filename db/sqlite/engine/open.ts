/** Opens the database file with the pragmas that the durability of the gateway rests on. */
import { Database } from 'bun:sqlite'

/**
 * WAL with synchronous=NORMAL survives any kill; a power cut is covered by our own syncs of the log (`log-sync.ts`), which
 * run off the event loop. `strict` makes a missing parameter an error instead of a silent NULL.
 */
export function openDatabase(path: string): Database {
  const database = new Database(path, { create: true, strict: true })
  for (const pragma of PRAGMAS) database.run(`PRAGMA ${pragma}`)
  return database
}

const PRAGMAS = [
  'busy_timeout = 250',
  'journal_mode = WAL',
  'synchronous = NORMAL',
  'foreign_keys = ON',
  'trusted_schema = OFF',
  'cell_size_check = ON',
  'secure_delete = FAST',
  // Folding the log into the file happens inside a commit, on the event loop: often and little, not seldom and long.
  'wal_autocheckpoint = 1000',
  'journal_size_limit = 67108864',
  'temp_store = MEMORY',
  // 32 MiB. Every key writes to pages of its own; by itself SQLite keeps 2 MB, and a thousand keys would read theirs anew.
  'cache_size = -32768',
]
