/** Why a file cannot be read or created, as text instead of the system's error code. */
import { systemCodeOf } from '#domain/system-code.ts'

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EEXIST: 'it already exists',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a part of this path is a file',
  EROFS: 'its disk is read-only',
  ENOSPC: 'the disk is full',
}

export const fileFault = (cause: unknown): string =>
  WORDS[systemCodeOf(cause)] ?? (cause instanceof Error ? cause.message : String(cause))
