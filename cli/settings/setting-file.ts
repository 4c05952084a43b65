/** A file that a setting names. */
import { readFileSync } from 'node:fs'
import { CommandError, EXIT } from '../exit.ts'
import { fileFault } from '../file-fault.ts'

/** @throws CommandError 1, which names the setting */
export function readSettingFile(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw unreadable(path, name, fileFault(cause))
  }
}

export const unreadable = (path: string, name: string, why: string): CommandError =>
  new CommandError('config', EXIT.failed, `cannot read ${path} (${name}): ${why}`)
