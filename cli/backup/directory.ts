/** A directory of backups: names, removal of old ones, and clean-up after killed ones. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isPartial } from '#db/sqlite/files/copy.ts'
import { DAY_MS, type Instant, renderInstant } from '#domain/clock.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'

export interface Destination {
  /** Absolute; it does not exist yet. */
  readonly file: string
  /** Set where the file name is generated: only then may old backups be removed. */
  readonly directory: string | null
}

/** Ascends with time: `gateway-20261121T163649123Z.db`. */
const OURS = /^gateway-\d{8}T\d{9}Z\.db$/
const nameOf = (at: Instant): string => `gateway-${renderInstant(at).replace(/[-:.]/g, '')}.db`

/**
 * Where a backup goes; creates the default directory, and removes leftovers of killed backups there.
 * @throws CommandError 1 for a file that is there or a place that cannot be written to, 2
 */
export function chooseDestination(
  { dataDir, clock }: Context,
  stated: string | undefined,
  keep: number | null,
): Destination {
  const path = resolve(stated ?? join(dataDir, 'backups'))
  try {
    if (stated === undefined) mkdirSync(path, { recursive: true, mode: 0o700 })
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    const now = clock.now()
    sweepPartials(isDirectory ? path : dirname(path), now)
    if (isDirectory) return { file: join(path, nameOf(now)), directory: path }
  } catch (cause) {
    throw cannotWrite(path, reasonOf(cause))
  }
  if (stated?.endsWith('/')) throw cannotWrite(path, 'no such directory')
  if (keep !== null) {
    throw existsSync(path)
      ? usageError(
          `--keep needs a directory, but ${path} is a file`,
          'gatewayctl backup /var/backups/gatewayctl --keep 7',
        )
      : usageError(
          `--keep needs a directory, but ${path} does not exist`,
          `mkdir ${shellWord(path)}`,
        )
  }
  if (existsSync(path)) throw cannotWrite(path, 'it already exists')
  return { file: path, directory: null }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its disk is read-only',
  ENOENT: 'no such directory',
  ENOTDIR: 'a part of this path is a file',
}

/** The reason of a system error, as text. */
function reasonOf(cause: unknown): string {
  return REASONS[systemCodeOf(cause)] ?? (cause instanceof Error ? cause.message : String(cause))
}

export const cannotWrite = (path: string, why: string): CommandError =>
  new CommandError('backup_failed', EXIT.failed, `cannot write ${path}: ${why}`)

/**
 * Says that a command is at this backup still, so that no other makes room of it; what a kill leaves is swept as a partial file is.
 * Returns the function that takes it back.
 */
export function markTaken(file: string): () => void {
  const mark = `${file}.taken.${process.pid}.partial`
  try {
    writeFileSync(mark, '', { mode: 0o600 })
  } catch (cause) {
    throw cannotWrite(file, reasonOf(cause))
  }
  return () => rmSync(mark, { force: true })
}

/**
 * Removes all but the newest `keep` backups, and returns the removed ones. `taken` counts as the newest: a clock that is behind
 * names it before others. Those that other commands are at do not count.
 * @throws CommandError 1 for one that cannot be removed
 */
export function removeOldest(directory: string, keep: number, taken: string): readonly string[] {
  const names = readdirSync(directory)
  const others = names
    .filter((name) => OURS.test(name) && name !== basename(taken))
    .filter((name) => !names.some((mark) => mark.startsWith(`${name}.taken.`)))
    .toSorted()
  const surplus = Math.max(0, others.length + 1 - keep)
  const old = others.slice(0, surplus).map((name) => join(directory, name))
  for (const file of old) {
    try {
      // Another backup may make room at once.
      rmSync(file, { force: true })
    } catch (cause) {
      throw notRemoved(taken, file, reasonOf(cause))
    }
  }
  return old
}

const notRemoved = (taken: string, old: string, why: string): CommandError =>
  new CommandError(
    'backup_failed',
    EXIT.failed,
    `${taken} is whole, but ${old} cannot be removed: ${why}`,
  )

/** Removes partial files of killed backups: no backup takes longer than a day. */
function sweepPartials(directory: string, now: Instant): void {
  for (const name of readdirSync(directory)) {
    if (!isPartial(name)) continue
    const path = join(directory, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found && now - found.mtimeMs > DAY_MS) rmSync(path, { force: true })
  }
}
