/** `gatewayctl config check`: checks whether `serve` would start with a configuration file, without the environment. */
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { readBrandSettings } from '../settings/brand-settings.ts'
import { readServeSettings } from '../settings/config.ts'
import { readConfigFile } from '../settings/config-file.ts'
import { readDeliverySettings } from '../settings/delivery-settings.ts'
import { readSharedStore } from '../settings/shared-store.ts'
import { readSigninSettings } from '../settings/signin-settings.ts'
import { readTelemetrySettings } from '../settings/telemetry-settings.ts'
import { noteDone, print, printJson } from '../terminal/output.ts'
import { noteMissing } from './path.ts'

/** What `--json` prints of a file that is good. */
export interface ConfigCheckRecord {
  readonly file: string
  readonly settings: readonly string[]
}

export const mount: Mount = (config) =>
  config
    .command('check')
    .description('check whether serve would start with this file; exit 2 when it would not')
    .argument('[file]', 'default: the file in use')
    .action(
      action(async (context, stated: string | undefined) => {
        const configFile =
          stated === undefined ? context.configFile : { path: stated, isNamed: true }
        const { path } = configFile
        const alone: Context = { ...context, env: {}, configFile }
        const settings = Object.keys(readConfigFile(alone))
        const { port } = readServeSettings(alone, {})
        readSigninSettings(alone, {}, port)
        await readBrandSettings(alone)
        readDeliverySettings(alone)
        readTelemetrySettings(alone, {})
        readSharedStore(alone)
        const record: ConfigCheckRecord = { file: path, settings }
        if (context.json) return printJson(record)
        if (context.quiet) return
        for (const name of settings) print(name)
        noteDone(context, `${path}: ${settings.length} settings`)
        noteMissing(alone)
      }),
    )
