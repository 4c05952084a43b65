/**
 * `GATEWAYCTL_NODES=2` runs the acceptance suite with so many nodes over one PostgreSQL, behind a balancer, instead of one process over
 * its data directory. Outside the tiers.
 */
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Address } from '#db/postgres/engine/address.ts'
import { openPostgres } from '#db/postgres/store.ts'
import { openVault } from '#db/vault.ts'
import { systemClock } from '#domain/clock.ts'
import type { GatewayStore } from '#signin/store.ts'
import { isOverNodes } from './one-process.ts'
import { POSTGRES_BIN, startPostgres } from './postgres.ts'

/** Set for all workers before the first test. */
const CLUSTER = 'GATEWAYCTL_CLUSTER'
const MASTER_KEY = Buffer.alloc(32, 7)

/** Its end; of a run of one process, nothing. */
export async function startSharedCluster(): Promise<() => Promise<void>> {
  if (!isOverNodes) return async () => {}
  if (POSTGRES_BIN === null) throw new Error('GATEWAYCTL_NODES: PostgreSQL is not installed')
  const cluster = await startPostgres(POSTGRES_BIN)
  const { hosts } = await cluster.create()
  process.env[CLUSTER] = dirname(hosts[0]?.path ?? '')
  return cluster.stop
}

const psql = (database: string, sql: string): string =>
  execFileSync(
    join(POSTGRES_BIN ?? '', 'psql'),
    ['-h', process.env[CLUSTER] ?? '', '-U', 'postgres', '-d', database, '-qAtX', '-c', sql],
    { encoding: 'utf8', maxBuffer: 2 ** 30 },
  )

let count = 0

/** A database of one installation, of the newest schema, and the variables that name it. */
export function createShared(): Readonly<Record<string, string>> {
  const name = `installation_${process.pid}_${++count}`
  psql('postgres', `CREATE DATABASE ${name} TEMPLATE made STRATEGY file_copy`)
  return {
    GATEWAY_STORE: `postgres://postgres@/${name}?host=${process.env[CLUSTER]}`,
    GATEWAY_MASTER_KEY: MASTER_KEY.toString('base64'),
  }
}

type Variables = Readonly<Record<string, string>>

const nameIn = ({ GATEWAY_STORE = '' }: Variables): string =>
  /@\/([^?]+)/.exec(GATEWAY_STORE)?.[1] ?? ''

export const dropShared = (variables: Variables): void =>
  void psql('postgres', `DROP DATABASE IF EXISTS ${nameIn(variables)} WITH (FORCE)`)

/** As SQLite tells it: what is true is 1. */
export function queryShared<Row>(
  variables: Variables,
  sql: string,
  values: readonly (string | number)[],
): Row[] {
  let nth = 0
  const text = sql.replaceAll('?', () => `'${String(values[nth++]).replaceAll("'", "''")}'`)
  const rows = psql(
    nameIn(variables),
    `SELECT coalesce(json_agg(found), '[]') FROM (${text}) found`,
  )
  return JSON.parse(rows, (_, value) => (typeof value === 'boolean' ? Number(value) : value))
}

/** By a process that is no node. */
export function openShared(variables: Variables): Promise<GatewayStore> {
  const path = join(process.env[CLUSTER] ?? '', '.s.PGSQL.5432')
  const address: Address = {
    hosts: [{ path }],
    username: 'postgres',
    database: nameIn(variables),
  }
  const vault = openVault(MASTER_KEY)
  return openPostgres({ address, clock: systemClock, node: null, vault })
}
