/** `gatewayctl config show`: the settings that `serve` would start with here, and where each comes from. */
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { action, type Mount } from '../action.ts'
import type { Context, Environment } from '../context.ts'
import {
  type ConfigFile,
  NAMES,
  readConfigFile,
  type SettingName,
} from '../settings/config-file.ts'
import { findSetting, variableOf } from '../settings/find-setting.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, printList, tell } from '../terminal/output.ts'
import { tellStray } from './stray.ts'

/** One setting as it is in force. */
export interface SettingRecord {
  readonly name: string
  /** Null where nothing is set; a password in it is not told. */
  readonly value: string | null
  /** A flag, a variable, a file, or "default"; null where nothing is set. */
  readonly origin: string | null
}

export const mount: Mount = (config) =>
  config
    .command('show')
    .description('show the settings that serve would start with here')
    .option('--origin', 'and where each comes from')
    .action(
      action(async (context, { origin }: { origin?: boolean }) => {
        const file = readConfigFile(context)
        for (const stray of tellStray(context.env)) tell(context, `! ${clean(stray)}`)
        const settings = [...placesOf(context), ...NAMES.map((name) => look(context, file, name))]
        printList(context, settings, origin ? [...COLUMNS, ORIGIN] : COLUMNS, ({ name }) => name)
      }),
    )

const COLUMNS: readonly Column<SettingRecord>[] = [
  { title: 'setting', full: ({ name }) => name },
  { title: 'value', full: ({ value }) => value },
]
const ORIGIN: Column<SettingRecord> = { title: 'origin', full: ({ origin }) => origin }

/** What holds where nobody says anything; a setting that is not here is then off, or made of the others. */
const DEFAULTS: Partial<Readonly<Record<SettingName, string>>> = {
  listen: '127.0.0.1:4140',
  auth_listen: '127.0.0.1:4141',
  auth_signup: 'open',
  reserve_output_tokens: String(DEFAULT_SETTINGS.reserveOutputTokens),
  'upstream.connect_timeout': seconds(DEFAULT_SETTINGS.connectTimeoutMs),
  'upstream.first_byte_timeout': seconds(DEFAULT_SETTINGS.firstByteTimeoutMs),
  'upstream.silence_timeout': seconds(DEFAULT_SETTINGS.silenceTimeoutMs),
  'upstream.total_timeout': seconds(DEFAULT_SETTINGS.totalTimeoutMs),
  'metrics.listen': 'off',
  'network.allow_private_webhooks': 'false',
  'retention.activity': '90d',
}

function seconds(ms: number): string {
  return `${ms / 1_000}s`
}

function look(context: Context, file: ConfigFile, name: SettingName): SettingRecord {
  const { env, configFile } = context
  const inFile = `${variableOf(name)}_FILE`
  if (SECRET.has(name) && env[inFile]) return { name, value: env[inFile], origin: inFile }
  const found = findSetting(env, file, name)
  if (found === undefined) {
    const value = DEFAULTS[name] ?? null
    return { name, value, origin: value === null ? null : 'default' }
  }
  const origin = found.name === name ? configFile.path : found.name
  return { name, value: SECRET.has(name) ? withoutPassword(found.text) : found.text, origin }
}

/** Settings that may hold a password. */
const SECRET: ReadonlySet<SettingName> = new Set<SettingName>(['smtp.url'])

function withoutPassword(text: string): string {
  const url = URL.parse(text.trim())
  if (url === null) return '(hidden)'
  if (url.password !== '') url.password = '…'
  return decodeURIComponent(url.href)
}

/** Where things are, which no file can say. */
function placesOf({ env, dataDir, adminSocket, configFile }: Context): readonly SettingRecord[] {
  return [
    {
      name: 'data_dir',
      value: dataDir,
      origin: originOf(env, ['GATEWAY_DATA_DIR', 'STATE_DIRECTORY'], dataDir),
    },
    {
      name: 'config',
      value: configFile.path,
      origin: originOf(env, ['GATEWAY_CONFIG', 'CONFIGURATION_DIRECTORY'], configFile.path),
    },
    {
      name: 'admin_socket',
      value: adminSocket,
      origin: originOf(env, ['GATEWAY_ADMIN_SOCKET'], adminSocket),
    },
  ]
}

/** The variable that says so, else a flag's or the default's doing. */
function originOf(env: Environment, variables: readonly string[], path: string): string {
  const named = variables.find((name) => {
    const value = env[name]?.split(':')[0]
    return value !== undefined && value !== '' && path.startsWith(value)
  })
  return named ?? (process.argv.some((arg) => arg.includes(path)) ? 'flag' : 'default')
}
