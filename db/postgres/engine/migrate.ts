/** Brings a database to the newest schema, in one transaction. */

import functions from '../functions.sql' with { type: 'text' }
import initial from '../migrations/0001_initial.sql' with { type: 'text' }
import { type Address, openClient } from './database.ts'

const MIGRATIONS: readonly string[] = [initial]

/** Of the schema that this binary works with. */
export const NEWEST_VERSION = MIGRATIONS.length

/** As the owner of the tables; success where there is nothing to do. Answers the version before and after. */
export async function migrate(
  address: Address,
): Promise<{ readonly from: number; readonly to: number }> {
  const client = openClient(address, 1)
  try {
    return await client.begin(async (tx) => {
      await tx.unsafe('SELECT pg_advisory_xact_lock(7003)')
      await tx.unsafe('CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)')
      const [row] = await tx.unsafe('SELECT version FROM schema_version')
      const from = Number(row?.version ?? 0)
      for (const sql of MIGRATIONS.slice(from)) await tx.unsafe(sql).simple()
      await tx.unsafe(functions).simple()
      await tx.unsafe('DELETE FROM schema_version')
      await tx.unsafe(`INSERT INTO schema_version VALUES (${NEWEST_VERSION})`)
      return { from, to: NEWEST_VERSION }
    })
  } finally {
    await client.close({ timeout: 0 })
  }
}
