/** Finds the value of a setting: its environment variable, else the configuration file. */
import type { Environment } from '../context.ts'
import type { ConfigFile, SettingName } from './config-file.ts'

export interface FoundSetting {
  readonly text: string
  /** The variable, or the setting in the file, that it came from. */
  readonly name: string
}

/** Variables that are not named after their table. */
const VARIABLES: Partial<Readonly<Record<SettingName, string>>> = {
  'network.allow_private_webhooks': 'GATEWAY_ALLOW_PRIVATE_WEBHOOKS',
}

/** `upstream.connect_timeout` is GATEWAY_UPSTREAM_CONNECT_TIMEOUT in the environment. */
export const variableOf = (name: SettingName): string =>
  VARIABLES[name] ?? `GATEWAY_${name.replace('.', '_').toUpperCase()}`

/** An empty variable is none. */
export function findSetting(
  env: Environment,
  file: ConfigFile,
  name: SettingName,
): FoundSetting | undefined {
  const variable = variableOf(name)
  const value = env[variable]
  if (value) return { text: value, name: variable }
  const text = file[name]
  return text === undefined ? undefined : { text, name }
}
