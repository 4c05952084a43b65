/** A file that a setting names, or that systemd hands over. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { fileExists } from '../gateway/access.ts'

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

/** Where systemd has put this credential; undefined where it hands none over. */
export function credentialFile(env: Environment, name: string): string | undefined {
  const directory = env['CREDENTIALS_DIRECTORY']
  const path = directory && join(directory, name)
  return path && fileExists(path) ? path : undefined
}
