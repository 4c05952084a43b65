/** A PostgreSQL for the bench, on a Unix socket in a temporary directory: what was answered is on its disk, and on that of its standby. */
import { execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { type Address, readAddress } from '#db/postgres/engine/address.ts'

const PACKAGES = '/usr/lib/postgresql'
const MAX_TRIES = 300
const TRY_MS = 100

export interface PostgresServer {
  /** As `GATEWAY_STORE` names it. */
  readonly store: string
  readonly address: Address
  readonly pid: number
  stop(): Promise<void>
}

/** @throws Error where the Debian package is not installed */
function findBin(): string {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES) : []
  const [newest] = versions.toSorted((a, b) => Number(b) - Number(a))
  if (newest !== undefined) return join(PACKAGES, newest, 'bin')
  throw new Error('PostgreSQL is not installed: apt-get install postgresql')
}

/** It does not run as root: then as the user that the package has made. */
function asOther(): Pick<SpawnOptions, 'uid' | 'gid'> {
  if (userInfo().uid !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Empty, but for a database. With a standby every commit waits for it. */
export async function startServer(hasStandby: boolean): Promise<PostgresServer> {
  const bin = findBin()
  const other = asOther()
  const directory = mkdtempSync(join(tmpdir(), 'gatewayctl-bench-pg-'))
  if (other.uid !== undefined && other.gid !== undefined) chownSync(directory, other.uid, other.gid)
  const run = (tool: string, ...args: string[]) =>
    execFileSync(join(bin, tool), args, { ...other, cwd: directory, stdio: 'pipe' })
  const launch = (data: string, port: number) => {
    const settings = ['listen_addresses=', `unix_socket_directories=${directory}`, `port=${port}`]
    const server = spawn(
      join(bin, 'postgres'),
      ['-D', join(directory, data), ...settings.flatMap((one) => ['-c', one])],
      { ...other, stdio: 'ignore', cwd: directory },
    )
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    return { server, ended }
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

  run('initdb', '-D', 'primary', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8')
  const servers = [launch('primary', 5432)]
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
    servers.push(launch('standby', 5433))
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
