/** A PostgreSQL of its own for a test file: from the Debian package, in a temporary directory, on a Unix socket. */
import { execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { SQL } from 'bun'
import type { Address } from '#db/postgres/engine/address.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'

const PACKAGES = '/usr/lib/postgresql'

/** Null where the package is not installed. */
export const POSTGRES_BIN: string | null = existsSync(PACKAGES)
  ? (readdirSync(PACKAGES)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(PACKAGES, version, 'bin'))
      .find((bin) => existsSync(join(bin, 'initdb'))) ?? null)
  : null

if (POSTGRES_BIN === null) console.warn('PostgreSQL: skipped, it is not installed')

/** It does not run as root: then as the user that the package has made. */
function asOther(): Pick<SpawnOptions, 'uid' | 'gid'> {
  if (userInfo().uid !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** As `GATEWAY_STORE` names it. */
export const storeText = ({ hosts, username, database }: Address): string =>
  `postgres://${username}@/${database}?host=${dirname(hosts[0]?.path ?? '')}`

export interface Cluster {
  /** A database of its own, of the newest schema; the one before it is dropped. */
  create(): Promise<Address>
  /** Without tables. */
  createEmpty(): Promise<Address>
  /** A statement of the superuser, in the database of this address. */
  run(address: Address, sql: string): Promise<void>
  /** Ends it as a crash does, with whatever is out; `start` brings it back. */
  crash(): Promise<void>
  start(): void
  stop(): Promise<void>
}

export async function startPostgres(bin: string): Promise<Cluster> {
  const directory = mkdtempSync(join(tmpdir(), 'pg-'))
  const other = asOther()
  if (other.uid !== undefined && other.gid !== undefined) {
    chownSync(directory, other.uid, other.gid)
  }
  const data = join(directory, 'data')
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8'],
    { ...other, stdio: 'ignore', cwd: directory },
  )
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${directory}`,
    'max_connections=200',
    // What survives a crash of the machine is not what these tests ask.
    'fsync=off',
    'autovacuum=off',
  ]
  const launch = () => {
    const server = spawn(
      join(bin, 'postgres'),
      ['-D', data, ...settings.flatMap((one) => ['-c', one])],
      { ...other, stdio: 'ignore', cwd: directory },
    )
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    return { server, ended }
  }
  let running = launch()
  const addressOf = (database: string): Address => ({
    hosts: [{ path: join(directory, '.s.PGSQL.5432') }],
    username: 'postgres',
    database,
  })
  const admin = await connect(addressOf('postgres'))
  await admin.unsafe('CREATE DATABASE made')
  await migrate(addressOf('made'))
  let count = 0
  let emptyCount = 0
  const copy = async (): Promise<Address> => {
    const name = `test_${++count}`
    await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE made STRATEGY wal_log`)
    return addressOf(name)
  }
  // Made while the test before it runs.
  let next = copy()
  return {
    async create() {
      const made = await next
      const before = `test_${count - 1}`
      // A database is three hundred files: those of tests that are over would be hundreds of thousands.
      next = admin.unsafe(`DROP DATABASE IF EXISTS ${before} WITH (FORCE)`).then(copy)
      next.catch(() => {})
      return made
    },
    async createEmpty() {
      const name = `empty_${++emptyCount}`
      await admin.unsafe(`CREATE DATABASE ${name}`)
      return addressOf(name)
    },
    async run(address, sql) {
      const client = await connect(address)
      try {
        await client.unsafe(sql).simple()
      } finally {
        await client.close({ timeout: 0 })
      }
    },
    async crash() {
      running.server.kill('SIGQUIT')
      await running.ended
    },
    start() {
      running = launch()
    },
    async stop() {
      await next.catch(() => {})
      await admin.close({ timeout: 0 })
      // At once, whoever is connected.
      running.server.kill('SIGQUIT')
      await running.ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Once it answers. */
async function connect(address: Address): Promise<SQL> {
  for (let tries = 0; ; tries++) {
    const { hosts, username, database } = address
    const client = new SQL({ ...hosts[0], username, database, max: 1 } as never)
    try {
      await client.unsafe('SELECT 1')
      return client
    } catch (error) {
      await client.close({ timeout: 0 })
      if (tries === 600) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
