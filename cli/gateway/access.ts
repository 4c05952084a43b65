/** Checks whether a file exists or can be created; a refusal by the system is an error, not a missing file. */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import { CommandError, EXIT } from '../exit.ts'

/** Whether the system or SQLite refused access: by permissions, or because a disk is read-only. */
export const isDenied = (cause: unknown): boolean =>
  /^(EACCES|EPERM|EROFS|SQLITE_CANTOPEN|SQLITE_READONLY)/.test(systemCodeOf(cause))

/** Whether the file exists. @throws CommandError 1 where a parent directory may not be read */
export const fileExists = (path: string): boolean => look(path) !== undefined

/** Whether the directory has a database. An empty file is none: SQLite would make a new one of it. @throws as `fileExists` does */
export const hasDatabase = (dataDir: string): boolean =>
  (look(join(dataDir, DATABASE_FILE))?.size ?? 0) > 0

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    if (isDenied(cause)) throw denied(path)
    if (['ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(systemCodeOf(cause))) return undefined
    throw cause
  }
}

/** The error for a file that may not be opened; the hint names the owner, or the read-only disk. */
export function denied(path: string): CommandError {
  const { place, uid } = nearestVisible(dirname(path))
  if (isReadOnly(place)) {
    return new CommandError(
      'read_only',
      EXIT.failed,
      `cannot open ${path}: its disk is read-only`,
      `findmnt -T ${place}`,
    )
  }
  return new CommandError(
    'permission_denied',
    EXIT.failed,
    `cannot open ${path}: permission denied`,
    uid === null || uid === process.getuid?.()
      ? `ls -ld ${place} ${path}`
      : `run this command as the owner of ${place} (uid ${uid})`,
  )
}

/** The directory itself, or its first parent that may be read. */
function nearestVisible(place: string): { readonly place: string; readonly uid: number | null } {
  try {
    return { place, uid: statSync(place).uid }
  } catch {
    return dirname(place) === place ? { place, uid: null } : nearestVisible(dirname(place))
  }
}

/** Whether the disk is read-only for every user. */
export function isReadOnly(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return false
  } catch (cause) {
    return systemCodeOf(cause) === 'EROFS'
  }
}

/** Why a directory cannot be created, for errors that the operator can fix. */
const WHY_UNMADE: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its disk is read-only',
  ENOTDIR: 'a part of this path is a file',
  EEXIST: 'a file with this name exists',
  ENOENT: 'its parent directory does not exist',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
}

/** Creates a directory that only its owner may enter; leaves an existing one as it is. @throws CommandError 1 */
export function makePrivateDirectory(directory: string): void {
  if (existsSync(directory) && statSync(directory).isDirectory()) return
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    if ((statSync(directory).mode & 0o077) !== 0) chmodSync(directory, 0o700)
  } catch (cause) {
    const why = WHY_UNMADE[systemCodeOf(cause)]
    if (why === undefined) throw cause
    const { place } = nearestVisible(dirname(directory))
    throw new CommandError(
      isDenied(cause) ? 'permission_denied' : 'not_made',
      EXIT.failed,
      `cannot create ${directory}: ${why}`,
      `ls -ld ${place}`,
    )
  }
}
