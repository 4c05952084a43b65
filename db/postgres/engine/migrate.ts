/** Brings a database to the newest schema, in one transaction. */

import { GatewayError } from '#domain/errors.ts'
import { type Moved, movedAway } from '../../moved.ts'
import functions from '../functions.sql' with { type: 'text' }
import initial from '../migrations/0001_initial.sql' with { type: 'text' }
import movedDays from '../migrations/0002_moved_days.sql' with { type: 'text' }
import nodes from '../migrations/0003_nodes.sql' with { type: 'text' }
import type { Address } from './address.ts'
import { openConnections, START_MS } from './connections.ts'
import { type Sql, sqlOn } from './database.ts'
import { toStoreError } from './errors.ts'

const MIGRATIONS: readonly string[] = [initial, movedDays, nodes]

/** To the role that nodes connect as, where it is another than the owner: it may not change what is written once. */
const GRANTS = `
  DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'gateway' AND rolname <> current_user) THEN
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO gateway;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO gateway;
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO gateway;
      REVOKE UPDATE, DELETE ON ledger, acts FROM gateway;
      REVOKE INSERT, UPDATE, DELETE ON schema_version FROM gateway;
    END IF;
  END $$`

/** Of the schema that this binary works with. */
export const NEWEST_VERSION = MIGRATIONS.length

/** 0 where it has no tables yet. @throws store_unavailable for one that was moved */
export async function readVersion(sql: Sql): Promise<number> {
  const known = await sql.get<{ name: string | null }>(
    "SELECT to_regclass('schema_version')::text AS name",
  )
  if (known?.name == null) return 0
  const row = await sql.get<{ version: number }>('SELECT version FROM schema_version')
  const version = row?.version ?? 0
  const moved = await sql.get<Moved>('SELECT place, at FROM moved')
  if (moved === null) return version
  const hint = `GATEWAY_DATA_DIR=${moved.place} gatewayctl serve, without GATEWAY_STORE`
  throw movedAway(moved, version, hint)
}

/** In the transaction of the move. */
export const markMoved = (tx: Sql, { place, at }: Moved): Promise<number> =>
  tx.run('INSERT INTO moved (one, place, at) VALUES (1, ?, ?)', place, at)

/** Newer, or older, than what this binary works with. */
const unknownSchema = (version: number): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `this database is schema ${version}, and this binary works with ${NEWEST_VERSION}`,
    {
      hint:
        version < NEWEST_VERSION
          ? 'gatewayctl store migrate'
          : 'a newer version has migrated it: use that one, or restore a backup from before',
      metadata: { schema_version: version, newest_schema_version: NEWEST_VERSION },
    },
  )

/** @throws store_unavailable, also for one that was moved */
export async function requireSchema(sql: Sql): Promise<void> {
  const version = await readVersion(sql)
  if (version !== NEWEST_VERSION) throw unknownSchema(version)
}

/** As the owner of the tables; success where there is nothing to do. Answers the version before and after. @throws store_unavailable for a schema of a newer binary, and for what was moved */
export async function migrate(
  address: Address,
): Promise<{ readonly from: number; readonly to: number }> {
  const connections = openConnections(address)
  try {
    const { pool } = await connections.open(START_MS)
    return await pool.begin(async (tx) => {
      // It waits for those that use a table, and for another migration.
      await tx.unsafe('SET LOCAL lock_timeout = 0')
      await tx.unsafe('SELECT pg_advisory_xact_lock(7003)')
      const from = await readVersion(sqlOn(tx))
      await tx.unsafe('CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)')
      if (from > NEWEST_VERSION) throw unknownSchema(from)
      for (const sql of MIGRATIONS.slice(from)) await tx.unsafe(sql).simple()
      await tx.unsafe(functions).simple()
      await tx.unsafe('DELETE FROM schema_version')
      await tx.unsafe(`INSERT INTO schema_version VALUES (${NEWEST_VERSION})`)
      await tx.unsafe(GRANTS).simple()
      return { from, to: NEWEST_VERSION }
    })
  } catch (error) {
    throw toStoreError(error)
  } finally {
    await connections.close()
  }
}
