/** Which schema a database has, which is the newest, and one that is newer still: known without loading the migrations. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import { type Moved, movedAway } from '../../moved.ts'

/** How many migrations there are. */
export const NEWEST_SCHEMA_VERSION = 50

/** How many migrations this database has seen. */
export const schemaVersion = (database: Database): number =>
  (database.query('PRAGMA user_version').get() as { user_version: number }).user_version

/** Of a database that was moved: beyond every version, so that no binary opens it, older ones neither. */
const MOVED_VERSION = 1_000_000

/** In the transaction that is open. */
export function markMoved(database: Database, { place, at }: Moved): void {
  database.run('CREATE TABLE moved (place TEXT NOT NULL, at INTEGER NOT NULL) STRICT')
  database.query('INSERT INTO moved (place, at) VALUES (?, ?)').run(place, at)
  database.run(`PRAGMA user_version = ${MOVED_VERSION}`)
}

/** A binary must not guess at tables it has never seen, nor open what lives elsewhere. */
export function newerSchema(database: Database): GatewayError {
  const version = schemaVersion(database)
  if (version === MOVED_VERSION) {
    const moved = database.query<Moved, []>('SELECT place, at FROM moved').get()
    if (moved !== null)
      return movedAway(moved, version, `GATEWAY_STORE='${moved.place}' gatewayctl serve`)
  }
  return new GatewayError(
    'store_unavailable',
    `this database is schema ${version}, this binary knows ${NEWEST_SCHEMA_VERSION}`,
    {
      hint: 'install a newer gatewayctl, or restore a backup made before the upgrade',
      metadata: { schema_version: version, newest_schema_version: NEWEST_SCHEMA_VERSION },
    },
  )
}
