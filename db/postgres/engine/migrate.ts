/** Brings a database to the newest schema, in one transaction, beside nodes that serve from it. */
import type { SQL } from 'bun'
import { GatewayError } from '#domain/errors.ts'
import type { NodeRecord } from '#domain/node.ts'
import { type Moved, movedAway } from '../../moved.ts'
import functions from '../functions.sql' with { type: 'text' }
import { makeDaysAhead } from '../log/days.ts'
import type { Address } from './address.ts'
import { openConnections, START_MS } from './connections.ts'
import { type Sql, sqlOn } from './database.ts'
import { isBusy, isDenied, repeated, toStoreError } from './errors.ts'
import { LIVES } from './node-life.ts'
import {
  FUNCTIONS,
  MIGRATIONS,
  NEWEST_VERSION,
  SERVES_FROM,
  VERSION_OF_FUNCTIONS,
} from './versions.ts'

/** To the role that nodes connect as, where it is another than the owner. */
const granting = (grants: string): string => `
  DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'gateway' AND rolname <> current_user) THEN
      ${grants}
    END IF;
  END $$`

const GRANT_FUNCTIONS = granting(`
      GRANT USAGE ON SCHEMA ${FUNCTIONS} TO gateway;
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public, ${FUNCTIONS} TO gateway;`)

/** It may not change what is written once. */
const GRANT_TABLES = granting(`
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO gateway;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO gateway;
      REVOKE UPDATE, DELETE ON ledger, acts FROM gateway;
      REVOKE INSERT, UPDATE, DELETE ON schema_version FROM gateway;
      -- For the audit. Every role has it, where nobody has taken it.
      IF pg_has_role((SELECT datdba FROM pg_database WHERE datname = current_database()), 'USAGE') THEN
        EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO gateway', current_database());
      END IF;`)

/** The functions of versions whose nodes serve no more. */
const DROP_OLD = `
  DO $$ DECLARE old name; BEGIN
    FOR old IN SELECT nspname FROM pg_namespace WHERE substring(nspname from '${VERSION_OF_FUNCTIONS}')::bigint < ${SERVES_FROM}
      LOOP EXECUTE format('DROP SCHEMA %I CASCADE', old); END LOOP;
  END $$`

export interface Schema {
  /** 0 where it has no tables yet. */
  readonly version: number
  /** The oldest version whose nodes may serve from it. */
  readonly servesFrom: number
  /** Whether it has the functions of this binary. */
  readonly hasFunctions: boolean
}

/** @throws store_unavailable for one that was moved */
export async function readSchema(sql: Sql): Promise<Schema> {
  const known = await sql.get<{ name: string | null; hasFunctions: boolean }>(
    `SELECT to_regclass('schema_version')::text AS name, to_regnamespace('${FUNCTIONS}') IS NOT NULL AS "hasFunctions"`,
  )
  const { name = null, hasFunctions = false } = known ?? {}
  if (name === null) return { version: 0, servesFrom: 0, hasFunctions }
  // Before version 4 it was the only one that might serve.
  const row = await sql.get<Omit<Schema, 'hasFunctions'>>(
    `SELECT version, coalesce((to_jsonb(s) ->> 'serves_from')::bigint, version) AS "servesFrom" FROM schema_version s`,
  )
  const { version = 0, servesFrom = 0 } = row ?? {}
  const moved = await sql.get<Moved>('SELECT place, at FROM moved')
  if (moved === null) return { version, servesFrom, hasFunctions }
  const hint = `gatewayctl --data-dir ${moved.place} serve, without GATEWAY_STORE`
  throw movedAway(moved, version, hint)
}

/** Whether it has the tables that this binary needs: it is of this version, or of a newer one that has removed none of them yet. */
const hasTables = ({ version, servesFrom }: Schema): boolean =>
  version >= NEWEST_VERSION && servesFrom <= NEWEST_VERSION

/** Whether a node of this binary may serve from it. */
export const isServed = (schema: Schema): boolean => hasTables(schema) && schema.hasFunctions

/** In the transaction of the move. */
export const markMoved = (tx: Sql, { place, at }: Moved): Promise<number> =>
  tx.run('INSERT INTO moved (one, place, at) VALUES (1, ?, ?)', place, at)

/** Newer, or older, than what this binary works with, or migrated by another build alone. */
const unknownSchema = (schema: Schema): GatewayError => {
  const { version, servesFrom } = schema
  return new GatewayError(
    'store_unavailable',
    hasTables(schema)
      ? `this database has not the functions of this binary, ${FUNCTIONS}`
      : `this database is schema ${version}, and this binary works with ${NEWEST_VERSION}`,
    {
      hint:
        version < NEWEST_VERSION || hasTables(schema)
          ? 'gatewayctl store migrate'
          : `a newer version has migrated it, for binaries of schema ${servesFrom} and newer: use that one, or restore a backup from before`,
      metadata: { schema_version: version, newest_schema_version: NEWEST_VERSION },
    },
  )
}

/** `exactly` that of this binary, where what a newer one has added would be left out. @throws store_unavailable, also for one that was moved */
export async function requireSchema(sql: Sql, { exactly = false } = {}): Promise<void> {
  const read = await readSchema(sql)
  const schema = exactly ? { ...read, servesFrom: read.version } : read
  if (!isServed(schema)) throw unknownSchema(schema)
}

/** A table is waited for so long at a time: whoever comes to it later waits behind. */
const LOCK_MS = 500
const REST_MS = 500
const MOST_TRIES = 60

export interface Migrated {
  readonly from: number
  readonly to: number
  /** Whether it had not the functions of this binary; also of one version, which another build has migrated. */
  readonly madeFunctions: boolean
}

/**
 * As the owner of the tables; success where there is nothing to do. Answers what it was and is.
 * @throws store_unavailable for a schema of a newer binary that this one may not serve from, for what was moved, and while a node serves that is too old for it
 */
export async function migrate(address: Address): Promise<Migrated> {
  const connections = openConnections(address)
  try {
    const { pool } = await connections.open(START_MS)
    for (let tries = 1; ; tries++) {
      try {
        return await repeated(() => pool.begin(migrateIn))
      } catch (thrown) {
        const error = toStoreError(thrown)
        if (isDenied(error)) return await migratedAlready(pool, denied(address, error))
        if (!isBusy(error)) throw error
        if (tries === MOST_TRIES) throw inTheWay(error)
        await Bun.sleep(REST_MS)
      }
    }
  } finally {
    await connections.close()
  }
}

/** A role that may migrate nothing finds it done all the same. @throws `refused` where it is not */
async function migratedAlready(pool: SQL, refused: GatewayError): Promise<Migrated> {
  const schema = await readSchema(sqlOn(pool))
  if (schema.version !== NEWEST_VERSION || !isServed(schema)) throw refused
  return { from: NEWEST_VERSION, to: NEWEST_VERSION, madeFunctions: false }
}

const denied = ({ username, database }: Address, cause: Error): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `the role "${username}" may not change the schema: ${cause.message}`,
    {
      permanent: true,
      hint: `migrate as the owner of the tables, who may create schemas: GRANT CREATE ON DATABASE "${database}" TO its role`,
      cause,
    },
  )

const inTheWay = (cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    'others use the tables all the while that it has waited for; nothing was changed',
    { hint: 'gatewayctl doctor names the oldest transaction: end it, and migrate again', cause },
  )

async function migrateIn(tx: SQL): Promise<Migrated> {
  const sql = sqlOn(tx)
  await tx.unsafe(`SET LOCAL lock_timeout = ${LOCK_MS}`)
  // One at a time.
  await tx.unsafe('SELECT pg_advisory_xact_lock(7003)')
  await tx.unsafe('SET LOCAL search_path = public')
  const schema = await readSchema(sql)
  const { version: from } = schema
  if (from > NEWEST_VERSION) {
    if (!hasTables(schema)) throw unknownSchema(schema)
    // Beside those of the newer one, whose tables are not touched.
    if (!schema.hasFunctions) await makeFunctions(tx)
    return { from, to: from, madeFunctions: !schema.hasFunctions }
  }
  if (from > 0) await requireNoOlderNode(sql, from)
  await tx.unsafe('CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)')
  for (const migration of MIGRATIONS.slice(from)) await tx.unsafe(migration).simple()
  await tx.unsafe(DROP_OLD).simple()
  await makeFunctions(tx)
  await tx.unsafe('DELETE FROM schema_version')
  await tx.unsafe(
    `INSERT INTO schema_version (version, serves_from) VALUES (${NEWEST_VERSION}, ${SERVES_FROM})`,
  )
  await tx.unsafe(GRANT_TABLES).simple()
  await makeDaysAhead(sql)
  return { from, to: NEWEST_VERSION, madeFunctions: !schema.hasFunctions }
}

async function makeFunctions(tx: SQL): Promise<void> {
  await tx.unsafe(`CREATE SCHEMA IF NOT EXISTS ${FUNCTIONS}`)
  await tx.unsafe(`SET LOCAL search_path = ${FUNCTIONS}, public`)
  await tx.unsafe(functions).simple()
  await tx.unsafe(GRANT_FUNCTIONS).simple()
}

/** Those that live, in a schema of any version that has tables: before version 4 no row said of which its node is. */
export const livingNodes = (
  sql: Sql,
  version: number,
): Promise<readonly Pick<NodeRecord, 'name' | 'version' | 'schema'>[]> =>
  sql.all(
    `SELECT name, version, schema FROM (
       SELECT name, version, epoch, beat_at, coalesce((to_jsonb(n) ->> 'schema')::bigint, ?) AS schema FROM nodes n) n
     WHERE ${LIVES} ORDER BY name`,
    version,
  )

/** None comes in meanwhile: one that starts looks at the schema again once it is in the list. */
async function requireNoOlderNode(sql: Sql, from: number): Promise<void> {
  await sql.run('LOCK TABLE nodes IN SHARE MODE')
  const older = (await livingNodes(sql, from)).filter(({ schema }) => schema < SERVES_FROM)
  if (older.length === 0) return
  const named = older.map(({ name, version, schema }) => `${name} (${version}, schema ${schema})`)
  throw new GatewayError(
    'store_unavailable',
    `nodes serve from it that schema ${NEWEST_VERSION} has no place for: ${named.join(', ')}`,
    {
      hint: `stop them, or start them with a version of schema ${SERVES_FROM} or newer; one that was killed counts as gone after 10 seconds: gatewayctl nodes list`,
      metadata: { schema_version: from, newest_schema_version: NEWEST_VERSION },
    },
  )
}
