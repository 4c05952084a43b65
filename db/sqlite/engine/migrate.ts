/** Brings a database to the newest schema, in one transaction, or refuses one that is newer than this binary. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import { copyDatabase } from '../files/copy.ts'
import { MIGRATIONS } from '../migrations/index.ts'
import { newestSchema } from '../migrations/newest.ts' with { type: 'macro' }
import { NEWEST_SCHEMA_VERSION, newerSchema, schemaVersion } from './schema-version.ts'

const NEWEST_SCHEMA = newestSchema()

export interface Upgrade {
  readonly from: number
  readonly to: number
  /** Where the database is kept as it was. */
  readonly copy: string
}

/** What becomes of a populated database of an older schema: it is brought to the newest, and this told before; or refused. */
export type OnOlderSchema = ((upgrade: Upgrade) => void) | 'refuse'

/** Makes an empty database what all migrations together do; in any other, runs each missing one once. A populated older database is copied beside itself first. @throws store_unavailable */
export function migrate(
  database: Database,
  path: string,
  onOlderSchema: OnOlderSchema = () => {},
): void {
  const version = schemaVersion(database)
  if (version === NEWEST_SCHEMA_VERSION) return
  if (version > NEWEST_SCHEMA_VERSION) throw newerSchema(database)
  // Whole, kept answers too, and of now: an earlier upgrade may have left one of this name.
  if (version > 0) {
    if (onOlderSchema === 'refuse') throw olderSchema(version)
    const copy = `${path}.pre-migrate-${version}`
    onOlderSchema({ from: version, to: NEWEST_SCHEMA_VERSION, copy })
    copyDatabase(database, copy, { answers: true })
  }
  const run = database.transaction(() => {
    for (const sql of version === 0 ? [NEWEST_SCHEMA] : MIGRATIONS.slice(version)) database.run(sql)
    database.run(`PRAGMA user_version = ${NEWEST_SCHEMA_VERSION}`)
  })
  run.immediate()
}

/** Only an upgrade that was asked for is one: the binary before it cannot open the database any more. */
const olderSchema = (version: number): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `this database is schema ${version}, and this binary works with ${NEWEST_SCHEMA_VERSION}: serve upgrades it, and no other command does`,
    {
      hint: 'gatewayctl backup    then: gatewayctl serve',
      metadata: { schema_version: version, newest_schema_version: NEWEST_SCHEMA_VERSION },
    },
  )
