/** The disk under the database: what SQLite throws for it, and what the ports then throw. */
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { GatewayError, type StoreTrouble } from '#domain/errors.ts'

export interface Disk {
  /** Whether so little space is left that only running requests should still be written. */
  isShort(): boolean
  /** Whether a file that the engine has open lies elsewhere now, or another in its place: what it writes would be lost. */
  isMoved(): boolean
}

/** For a store in memory. */
export const NO_DISK: Disk = { isShort: () => false, isMoved: () => false }

/**
 * Reserved for running requests: with less free space, no request is admitted. A charge takes less than a kilobyte, and
 * as much again in the checkpoint of the log.
 */
const RESERVED_BYTES = 16 * 2 ** 20

/** `files` are those that are open by now. */
export function watchDisk(databasePath: string, files: readonly string[] = []): Disk {
  const directory = dirname(databasePath)
  const opened = new Map(files.map((file) => [file, identityOf(file)]))
  return {
    isMoved: () => files.some((file) => identityOf(file) !== opened.get(file)),
    isShort() {
      try {
        const { bavail, bsize } = statfsSync(directory)
        return bavail * bsize < RESERVED_BYTES
      } catch {
        // The next commit finds out.
        return false
      }
    },
  }
}

/** What tells one file from another of the same name; null where there is none, or none that may be seen. */
function identityOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}

/**
 * The error for a database that does not open. One that may not be written is left as it is: its cause depends on the caller.
 */
export function explainOpening(error: unknown, disk: Disk): unknown {
  const trouble = troubleOf(error)
  if (trouble === null || trouble === 'read_only') return error
  // SQLite reports only some failures for lack of space as SQLITE_FULL.
  return unavailable(trouble === 'failing' && disk.isShort() ? 'full' : trouble, error)
}

const BY_CODE: readonly (readonly [RegExp, StoreTrouble])[] = [
  [/^SQLITE_FULL/, 'full'],
  [/^SQLITE_(READONLY|CANTOPEN)/, 'read_only'],
  // Too big is a length that nothing written has.
  [/^SQLITE_(CORRUPT|NOTADB|TOOBIG)/, 'damaged'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'locked'],
  [/^SQLITE_(IOERR|NOMEM|INTERRUPT)/, 'failing'],
]

/** Why the disk refused a write, which it may take later; null for an error that is the fault of the write itself. */
export function troubleOf(error: unknown): StoreTrouble | null {
  if (!(error instanceof Error && 'code' in error)) return null
  const code = String(error.code)
  return BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? null
}

/** For background work: disk trouble will surface at the next request. @throws any other error */
export function ignoreTrouble(error: unknown): void {
  if (troubleOf(error) === null) throw error
}

const MESSAGES: Readonly<Record<StoreTrouble, string>> = {
  full: "the gateway's disk is full",
  read_only: "the gateway's disk is read-only",
  damaged: "the gateway's database is damaged",
  locked: "another program holds the gateway's database",
  moved: "the gateway's database was moved, removed or replaced",
  failing: 'the gateway cannot write to its disk',
}

/** The error of every caller while the disk takes no writes. */
export const unavailable = (trouble: StoreTrouble = 'failing', cause?: unknown): GatewayError =>
  new GatewayError('store_unavailable', `${MESSAGES[trouble]}; nothing was taken or charged`, {
    retryAfterSeconds: 5,
    hint: 'gatewayctl doctor',
    trouble,
    cause,
  })

/** The error of a change that was committed, and of which it is not known whether the disk has it. */
export const unsynced = (cause: unknown): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `${MESSAGES.failing}; the change is made, and a power cut may undo it`,
    { hint: 'gatewayctl doctor', trouble: 'failing', cause },
  )

/** `store_unavailable` for what the disk has against it; any other error as it is. */
export function toStoreError(error: unknown): unknown {
  const trouble = troubleOf(error)
  return trouble === null ? error : unavailable(trouble, error)
}

/** The same, for a promise. */
function rethrow(error: unknown): never {
  throw toStoreError(error)
}

type Method = (...args: unknown[]) => unknown

/** The same ports, whose methods throw and reject with what `toStoreError` makes of an error. */
export function translatePortErrors<Ports extends object>(ports: Ports): Ports {
  const translated: Record<string, unknown> = {}
  for (const [name, port] of Object.entries(ports)) {
    translated[name] =
      typeof port === 'function'
        ? translateMethod(ports, name)
        : translatePortErrors(port as object)
  }
  return translated as Ports
}

/** A port that is loaded when it is first used has other methods from then on, so it is asked for them at every call. */
function translateMethod(port: object, name: string): Method {
  return (...args) => {
    try {
      const answer = (port as Readonly<Record<string, Method>>)[name]?.(...args)
      return answer instanceof Promise ? answer.catch(rethrow) : answer
    } catch (error) {
      return rethrow(error)
    }
  }
}
