/** PostgreSQL of the Debian package, as the tests and the soak start it: in a temporary directory, on a Unix socket. */
import { execFileSync, type SpawnOptions } from 'node:child_process'
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

/** It does not run as root: then as the user that the package has made. */
export function asOther(): Pick<SpawnOptions, 'uid' | 'gid'> {
  if (userInfo().uid !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** A temporary directory of its user. */
export function ownDirectory({ uid, gid }: ReturnType<typeof asOther>): string {
  const directory = mkdtempSync(join(tmpdir(), 'pg-'))
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
  return directory
}

/** An empty cluster. */
export function initialize(bin: string, data: string, other: ReturnType<typeof asOther>): void {
  const locale = ['-E', 'UTF8', '--locale=C.UTF-8']
  const settings = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', ...locale]
  execFileSync(join(bin, 'initdb'), settings, { ...other, stdio: 'ignore', cwd: '/' })
}
