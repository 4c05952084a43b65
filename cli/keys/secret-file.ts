/** A file for one secret: created before the key, so that no secret is lost because the file cannot be written. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { CommandError, EXIT } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { UnwritableError } from '../terminal/streams.ts'

export interface SecretFile {
  /** @throws UnwritableError */
  keep(secret: string): void
  /** Closes the file, and removes it if nothing was written to it. */
  close(): void
}

/** Creates a new file with mode 0600; never overwrites one. @throws CommandError 1 */
export function reserveFile(path: string): SecretFile {
  const file = open(path)
  let kept = false
  return {
    keep(secret) {
      try {
        writeSync(file, `${secret}\n`)
      } catch (cause) {
        throw new UnwritableError(path, cause)
      }
      kept = true
    },
    close() {
      closeSync(file)
      if (!kept) rmSync(path, { force: true })
    },
  }
}

function open(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (cause) {
    throw new CommandError('unwritable', EXIT.failed, `cannot write ${path}: ${fileFault(cause)}`)
  }
}
