/** PostgreSQL of the Debian package, as the tests, the soak and the bench start it: in a temporary directory, on a Unix socket. */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const PACKAGES = '/usr/lib/postgresql'

/** Null where the package is not installed. */
export const POSTGRES_BIN: string | null = existsSync(PACKAGES)
  ? (readdirSync(PACKAGES)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(PACKAGES, version, 'bin'))
      .find((bin) => existsSync(join(bin, 'initdb'))) ?? null)
  : null

type Other = Pick<SpawnOptions, 'uid' | 'gid' | 'env'>

/** It does not run as root: then as the user that the package has made. */
export function asOther(): Other {
  if (userInfo().uid !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** A temporary directory of its user. */
export function ownDirectory({ uid, gid }: Other): string {
  const directory = mkdtempSync(join(tmpdir(), 'pg-'))
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
  return directory
}

/** An empty cluster. */
export function initialize(bin: string, data: string, other: Other): void {
  const locale = ['-E', 'UTF8', '--locale=C.UTF-8']
  const settings = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', ...locale]
  execFileSync(join(bin, 'initdb'), settings, { ...other, stdio: 'ignore', cwd: '/' })
}

export interface Running {
  readonly server: ChildProcess
  readonly ended: Promise<void>
}

/** The server of a cluster: its socket is in this directory, and it listens nowhere else. */
export function launch(
  bin: string,
  data: string,
  other: Other,
  sockets: string,
  settings: readonly string[],
): Running {
  const all = ['listen_addresses=', `unix_socket_directories=${sockets}`, ...settings]
  const flags = all.flatMap((one) => ['-c', one])
  const options = { ...other, stdio: 'ignore', cwd: '/' } as const
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], options)
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  return { server, ended }
}
