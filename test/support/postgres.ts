/** A PostgreSQL of its own for a test file: from the Debian package, in a temporary directory, on a Unix socket. */
import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { SQL } from 'bun'
import type { Address } from '#db/postgres/engine/address.ts'
import { migrate } from '#db/postgres/engine/migrate.ts'
import {
  asOther,
  initialize,
  launch,
  ownDirectory,
  POSTGRES_BIN,
} from '#scripts/postgres-package.ts'

export { POSTGRES_BIN }

if (POSTGRES_BIN === null) console.warn('PostgreSQL: skipped, it is not installed')

/** As `GATEWAY_STORE` names it. */
export const storeText = ({ hosts, username, database }: Address): string =>
  `postgres://${username}@/${database}?host=${dirname(hosts[0]?.path ?? '')}`

export interface Cluster {
  /** A database of its own, of the newest schema; the one before it is dropped. */
  create(): Promise<Address>
  /** Without tables. */
  createEmpty(): Promise<Address>
  /** A statement of the superuser, in the database of this address; the rows that it finds. */
  run<Row>(address: Address, sql: string): Promise<readonly Row[]>
  /** Ends it as a crash does, with whatever is out; `start` brings it back. */
  crash(): Promise<void>
  start(): void
  stop(): Promise<void>
}

const SETTINGS = [
  'max_connections=200',
  // What survives a crash of the machine is not what these tests ask.
  'fsync=off',
  'autovacuum=off',
]

const addressIn = (directory: string, database: string): Address => ({
  hosts: [{ path: join(directory, '.s.PGSQL.5432') }],
  username: 'postgres',
  database,
})

/** A stopped cluster with a database `made` of the newest schema, once for all files of a run: a copy of it takes a tenth of the time. */
async function makeOnce(bin: string): Promise<string> {
  const place = join(tmpdir(), 'made-cluster')
  if (existsSync(place)) return place
  const other = asOther()
  const directory = ownDirectory(other)
  const data = join(directory, 'data')
  initialize(bin, data, other)
  const { server, ended } = launch(bin, data, other, directory, SETTINGS)
  const admin = await connect(addressIn(directory, 'postgres'))
  await admin.unsafe('CREATE DATABASE made')
  await admin.close({ timeout: 0 })
  await migrate(addressIn(directory, 'made'))
  server.kill('SIGINT')
  await ended
  try {
    renameSync(directory, place)
  } catch (cause) {
    // Another file was faster.
    if (!existsSync(place)) throw cause
    rmSync(directory, { recursive: true, force: true })
  }
  return place
}

export async function startPostgres(bin: string): Promise<Cluster> {
  const made = await makeOnce(bin)
  const other = asOther()
  const directory = ownDirectory(other)
  const data = join(directory, 'data')
  execFileSync('cp', ['-a', join(made, 'data'), data], { ...other, stdio: 'ignore', cwd: '/' })
  const serve = () => launch(bin, data, other, directory, SETTINGS)
  let running = serve()
  const addressOf = (database: string): Address => addressIn(directory, database)
  const admin = await connect(addressOf('postgres'))
  let count = 0
  let emptyCount = 0
  const copy = async (): Promise<Address> => {
    const name = `test_${++count}`
    await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE made STRATEGY file_copy`)
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
        return [...(await client.unsafe(sql).simple())]
      } finally {
        await client.close({ timeout: 0 })
      }
    },
    async crash() {
      running.server.kill('SIGQUIT')
      await running.ended
    },
    start() {
      running = serve()
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

/** One connection, once it answers. */
export async function connect(address: Address): Promise<SQL> {
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
