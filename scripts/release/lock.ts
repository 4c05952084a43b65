// The lock file, read as data: which packages there are, and what each must be.
import { readFileSync } from 'node:fs'

export interface LockedPackage {
  readonly name?: string
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface LockFile {
  /** By place; the project itself is at the empty one. */
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export const readLock = (): LockFile =>
  JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as LockFile
