/** `gatewayctl config path`: prints the path of the configuration file in use. */
import { existsSync } from 'node:fs'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { print, printJson, printNote } from '../terminal/output.ts'

/** What `--json` prints. */
export interface ConfigPathRecord {
  readonly path: string
  readonly exists: boolean
}

export const mount: Mount = (config) =>
  config
    .command('path')
    .description('print the path of the configuration file in use')
    .action(
      action(async (context) => {
        const { path } = context.configFile
        const record: ConfigPathRecord = { path, exists: existsSync(path) }
        if (context.json) return printJson(record)
        print(path)
        noteMissing(context)
      }),
    )

/** Of the file in use. */
export function noteMissing(context: Context): void {
  if (!existsSync(context.configFile.path))
    printNote(context, '! this file does not exist: the defaults apply')
}
