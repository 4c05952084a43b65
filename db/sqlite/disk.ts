/** What a disk may have against being written to, and how much room it has. */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { GatewayError } from '#domain/errors.ts'
import type { StoreTrouble } from '#domain/store.ts'

export interface Disk {
  /** Whether so little is left that only what already runs should still be written. */
  isShort(): boolean
}

/** For a store in memory. */
export const NO_DISK: Disk = { isShort: () => false }

/**
 * Kept for what is already owed: with less than this nothing new is begun. A charge takes less than a kilobyte, and the
 * log is folded meanwhile, which takes as much again.
 */
const KEPT_BYTES = 16 * 2 ** 20

export function watchDisk(databasePath: string): Disk {
  const directory = dirname(databasePath)
  return {
    isShort() {
      try {
        const { bavail, bsize } = statfsSync(directory)
        return bavail * bsize < KEPT_BYTES
      } catch {
        // Whoever commits finds out.
        return false
      }
    },
  }
}

/**
 * What a database that does not open is told as. One that may not be written is left as it is: whose fault that is depends
 * on who asks.
 */
export function explainOpening(error: unknown, disk: Disk): unknown {
  const trouble = troubleOf(error)
  if (trouble === null || trouble === 'read_only') return error
  // SQLite asks for room in more ways than one, and calls only some of them by their name.
  return unavailable(trouble === 'failing' && disk.isShort() ? 'full' : trouble, error)
}

const BY_CODE: readonly (readonly [RegExp, StoreTrouble])[] = [
  [/^SQLITE_FULL/, 'full'],
  [/^SQLITE_(READONLY|CANTOPEN)/, 'read_only'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'damaged'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'locked'],
  [/^SQLITE_(IOERR|NOMEM|INTERRUPT)/, 'failing'],
]

/** What keeps a write from being taken, now and maybe not later; null for an error that is the fault of the write itself. */
export function troubleOf(error: unknown): StoreTrouble | null {
  if (!(error instanceof Error && 'code' in error)) return null
  const code = String(error.code)
  return BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? null
}

/** For work that nobody waits for: the disk's trouble surfaces at the next request. @throws any other error */
export function leaveTrouble(error: unknown): void {
  if (troubleOf(error) === null) throw error
}

const SAID: Readonly<Record<StoreTrouble, string>> = {
  full: "the gateway's disk is full",
  read_only: "the gateway's disk is read-only",
  damaged: "the gateway's database is damaged",
  locked: "another program holds the gateway's database",
  failing: 'the gateway cannot write to its disk',
}

/** The error of every caller while the disk takes no writes. */
export const unavailable = (trouble: StoreTrouble = 'failing', cause?: unknown): GatewayError =>
  new GatewayError('store_unavailable', `${SAID[trouble]}; nothing was taken or charged`, {
    retryAfterSeconds: 5,
    hint: 'gatewayctl doctor',
    trouble,
    cause,
  })
