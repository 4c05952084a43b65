// The C library of the image: Debian's package, held to its digest.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { downloadPackage } from './apt.ts'
import { run } from './run.ts'
import type { TarEntry } from './tar.ts'

/** Debian drops a version when it has a newer one: then this is the place to name that. */
export const LIBC = {
  version: '2.36-9+deb12u14',
  sha256: {
    amd64: 'ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf',
    arm64: '01f4330719fd4f65580e16ea5a0527f372fca750e8f588d26deaf09f2d3b1cf4',
  },
} as const

export type Architecture = keyof typeof LIBC.sha256

/** What of it a program needs to run, and its licence. */
const WANTED = /^(lib|lib64)\/|^usr\/share\/doc\/libc6\/copyright$/

/** Its files below `cache`, fetched from the configured mirror when they are not there yet; needs apt and dpkg. */
export async function fetchLibc(
  architecture: Architecture,
  cache: string,
): Promise<readonly TarEntry[]> {
  const name = `libc6_${LIBC.version}_${architecture}`
  const file = join(cache, `${name}.deb`)
  if (!existsSync(file)) {
    await downloadPackage({ name: `libc6=${LIBC.version}`, architecture }, cache)
  }
  const digest = createHash('sha256').update(readFileSync(file)).digest('hex')
  if (digest !== LIBC.sha256[architecture])
    throw new Error(`${file} is not what is pinned: ${digest}`)
  const unpacked = join(cache, name)
  await run(['dpkg-deb', '--extract', file, unpacked])
  return readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .map((entry) => ({
      entry,
      path: join(entry.parentPath, entry.name).slice(unpacked.length + 1),
    }))
    .filter(({ entry, path }) => !entry.isDirectory() && WANTED.test(path))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ entry, path }) =>
      entry.isSymbolicLink()
        ? { path, mode: 0o777, link: readlinkSync(join(unpacked, path)) }
        : { path, mode: 0o755, bytes: readFileSync(join(unpacked, path)) },
    )
}
