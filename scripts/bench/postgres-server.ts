/** A PostgreSQL for the bench, on a Unix socket in a temporary directory: what was answered is on its disk, and on that of its standby. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, readAddress } from '#db/postgres/engine/address.ts'
import { asOther, initialize, launch, ownDirectory, POSTGRES_BIN } from '../postgres-package.ts'
import { ALL_CORES, stayOn } from './process.ts'

const MAX_TRIES = 300
const TRY_MS = 100

export interface PostgresServer {
  /** As `GATEWAY_STORE` names it. */
  readonly store: string
  readonly address: Address
  readonly pid: number
  stop(): Promise<void>
}

/**
 * Empty, but for a database. With a standby every commit waits for it.
 * @throws Error where the Debian package is not installed
 */
export async function startServer(hasStandby: boolean): Promise<PostgresServer> {
  const bin = POSTGRES_BIN
  if (bin === null) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  const other = asOther()
  const directory = ownDirectory(other)
  const run = (tool: string, ...args: string[]) =>
    execFileSync(join(bin, tool), args, { ...other, cwd: directory, stdio: 'pipe' })
  const serve = (data: string, port: number) => {
    const running = launch(bin, join(directory, data), other, directory, [`port=${port}`])
    stayOn(ALL_CORES, running.server.pid)
    return running
  }
  const psql = (port: number, sql: string) =>
    run('psql', '-h', directory, '-p', String(port), '-U', 'postgres', '-d', 'postgres', '-c', sql)
  const until = async (port: number, sql: string, said: string): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        if (psql(port, sql).toString().includes(said)) return
      } catch (error) {
        if (tries === MAX_TRIES) throw error
      }
      if (tries === MAX_TRIES) throw new Error(`PostgreSQL does not say ${said}`)
      await Bun.sleep(TRY_MS)
    }
  }
  const answers = (port: number) => until(port, "SELECT 'ready'", 'ready')

  initialize(bin, join(directory, 'primary'), other)
  const servers = [serve('primary', 5432)]
  await answers(5432)
  psql(5432, 'CREATE DATABASE gateway')
  if (hasStandby) {
    run(
      'pg_basebackup',
      '-D',
      'standby',
      '-h',
      directory,
      '-U',
      'postgres',
      '-X',
      'stream',
      '-c',
      'fast',
      '-R',
    )
    servers.push(serve('standby', 5433))
    await answers(5433)
    psql(5432, "ALTER SYSTEM SET synchronous_standby_names = '*'")
    psql(5432, 'SELECT pg_reload_conf()')
    await until(5432, "SELECT 'is ' || sync_state FROM pg_stat_replication", 'is sync')
  }
  const store = `postgres://postgres@/gateway?host=${directory}`
  return {
    store,
    address: readAddress(store),
    pid: servers[0]?.server.pid ?? 0,
    async stop() {
      for (const { server } of servers) server.kill('SIGQUIT')
      await Promise.all(servers.map(({ ended }) => ended))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
