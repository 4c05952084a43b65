/** Which schema a database has, which is the newest, and one that is newer still: known without loading the migrations. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'

/** How many migrations there are. */
export const NEWEST_SCHEMA_VERSION = 47

/** How many migrations this database has seen. */
export const schemaVersion = (database: Database): number =>
  (database.query('PRAGMA user_version').get() as { user_version: number }).user_version

/** A binary must not guess at tables it has never seen. */
export const newerSchema = (version: number): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `this database is schema ${version}, this binary knows ${NEWEST_SCHEMA_VERSION}`,
    {
      hint: 'install a newer gatewayctl, or restore a backup made before the upgrade',
      metadata: { schema_version: version, newest_schema_version: NEWEST_SCHEMA_VERSION },
    },
  )
