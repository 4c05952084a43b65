/** The SQLite engine: one writing process, hot state in memory, group commit, every port on one connection. */
import { statSync } from 'node:fs'
import type { Store, StoreHealth } from '#domain/store.ts'
import { createAccounts } from './accounts.ts'
import { createActivity } from './activity.ts'
import { createAdmissions } from './admissions.ts'
import type { Connection } from './connection.ts'
import { createKeys } from './keys.ts'
import { createLedger } from './ledger.ts'
import { NEWEST_SCHEMA_VERSION, schemaVersion } from './migrate.ts'
import { createModels } from './models.ts'
import { createProviders } from './providers.ts'
import { createRates } from './rates.ts'
import { voidOpenHolds } from './recover.ts'
import { startStandings } from './standing.ts'
import { prepareWriter } from './writer.ts'

/** Resolves what an earlier process left open, then opens every port. `release` gives the directory back at the end. */
export function createStore(connection: Connection, path: string, release: () => void): Store {
  const { database, commit } = connection
  const writer = prepareWriter(connection)
  voidOpenHolds(connection, writer)
  const standings = startStandings(connection)
  const models = createModels(connection)

  return {
    accounts: createAccounts(connection),
    keys: createKeys(connection, standings),
    admissions: createAdmissions(connection, standings, writer),
    ledger: createLedger(connection, standings),
    models,
    providers: createProviders(connection, models.forget),
    rates: createRates(connection),
    activity: createActivity(connection, writer),
    async health({ checkIntegrity }): Promise<StoreHealth> {
      commit.flush()
      return {
        writable: commit.writable,
        schemaVersion: schemaVersion(database),
        newestSchemaVersion: NEWEST_SCHEMA_VERSION,
        openHolds: standings.open.size,
        integrityFindings: checkIntegrity ? integrityFindings(connection) : null,
        sizeBytes: path === ':memory:' ? 0 : statSync(path).size,
      }
    },
    async close() {
      try {
        commit.close()
        // `true` finalises what is still prepared: without it the log is neither folded into the file nor synced.
        database.close(true)
      } finally {
        release()
      }
    },
  }
}

function integrityFindings({ database }: Connection): readonly string[] {
  const integrity = database
    .query<{ integrity_check: string }, []>('PRAGMA integrity_check(20)')
    .all()
  const dangling = database.query<{ table: string }, []>('PRAGMA foreign_key_check').all()
  return [
    ...integrity.map((row) => row.integrity_check).filter((finding) => finding !== 'ok'),
    ...dangling.map(({ table }) => `a row of ${table} refers to nothing`),
  ]
}
