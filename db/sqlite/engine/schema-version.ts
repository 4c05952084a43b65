/** Which schema a database has, and which is the newest: known without loading the migrations, which few starts need. */
import type { Database } from 'bun:sqlite'

/** How many migrations there are. */
export const NEWEST_SCHEMA_VERSION = 27

/** How many migrations this database has seen. */
export const schemaVersion = (database: Database): number =>
  (database.query('PRAGMA user_version').get() as { user_version: number }).user_version
