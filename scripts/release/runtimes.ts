// The runtimes that releases are built upon: npm packages, held to the integrity that the lock file names.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { readLock } from './lock.ts'
import { run } from './run.ts'

/** As Bun names targets, without the `bun-` in front. */
export const TARGETS = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
] as const

export type Target = (typeof TARGETS)[number]

export const isTarget = (text: string): text is Target =>
  (TARGETS as readonly string[]).includes(text)

/** The package of a target's Bun, as the lock file has it. */
export function toRuntime(target: Target) {
  const name = `@oven/bun-${target.replace('arm64', 'aarch64')}`
  const { version, integrity } = readLock().packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) {
    throw new Error(`the lock file knows no ${name}`)
  }
  return { name, version, integrity }
}

/** The Bun of a target, unpacked below `cache`; fetched from the configured registry when it is not there yet. */
export async function fetchRuntime(target: Target, cache: string): Promise<string> {
  const { name, version, integrity } = toRuntime(target)
  const unpacked = join(cache, `bun-${target}-${version}`)
  if (!existsSync(unpacked)) {
    mkdirSync(cache, { recursive: true })
    const told = await run([
      'npm',
      'pack',
      `${name}@${version}`,
      '--json',
      '--pack-destination',
      cache,
    ])
    const [{ filename }] = JSON.parse(told) as [{ filename: string }]
    const tarball = join(cache, filename)
    demandIntegrity(tarball, integrity)
    const draft = `${unpacked}.${process.pid}`
    mkdirSync(draft)
    await run(['tar', '-xzf', tarball, '-C', draft])
    renameSync(draft, unpacked)
  }
  return join(unpacked, 'package', 'bin', 'bun')
}

/** @throws Error when a file is not what the lock file means by it */
export function demandIntegrity(file: string, integrity: string): void {
  const digest = createHash('sha512').update(readFileSync(file)).digest('base64')
  if (integrity === `sha512-${digest}`) return
  throw new Error(`${file} is not what the lock file names: sha512-${digest}`)
}
