/** `gatewayctl config show`: the settings that `serve` would start with here, and where each comes from. */
import { readAddress, renderAddress } from '#db/postgres/engine/address.ts'
import { DEFAULT_SETTINGS } from '#domain/settings.ts'
import { DEFAULT_LIMITS } from '#signin/limits.ts'
import { action, type Mount } from '../action.ts'
import type { Context, GlobalFlags } from '../context.ts'
import {
  type ConfigFile,
  NAMES,
  readConfigFile,
  type SettingName,
} from '../settings/config-file.ts'
import { findSetting, variableOf } from '../settings/find-setting.ts'
import { clean } from '../terminal/clean.ts'
import { type Column, printList, printNote } from '../terminal/output.ts'
import { describeUnknown } from './unknown-variables.ts'

/** One setting as it is in force. */
export interface SettingRecord {
  readonly name: string
  /** Null where nothing is set; without passwords. */
  readonly value: string | null
  /** A flag, a variable, a file, or "default"; null where nothing is set. */
  readonly origin: string | null
}

interface Flags extends GlobalFlags {
  readonly origin?: boolean
}

export const mount: Mount = (config) =>
  config
    .command('show')
    .description('show the settings that serve would start with')
    .option('--origin', 'also show where each comes from')
    .action(
      action(async (context, flags: Flags) => {
        const file = readConfigFile(context)
        for (const unknown of describeUnknown(context.env))
          printNote(context, `! ${clean(unknown)}`)
        const settings = [
          ...placesOf(context, flags),
          ...NAMES.map((name) => readSetting(context, file, name)),
        ]
        printList(
          context,
          settings,
          flags.origin ? [...COLUMNS, ORIGIN] : COLUMNS,
          ({ name }) => name,
        )
      }),
    )

const COLUMNS: readonly Column<SettingRecord>[] = [
  { title: 'setting', full: ({ name }) => name },
  { title: 'value', full: ({ value }) => value },
]
const ORIGIN: Column<SettingRecord> = { title: 'origin', full: ({ origin }) => origin }

/** Defaults; a setting that is not here is off, or derived from others. */
const DEFAULTS: Partial<Readonly<Record<SettingName, string>>> = {
  listen: '127.0.0.1:4140',
  auth_listen: '127.0.0.1:4141',
  auth_signup: 'open',
  auth_codes_per_address: String(DEFAULT_LIMITS.codesPerAddress),
  auth_codes_per_network: String(DEFAULT_LIMITS.codesPerNetwork),
  auth_signins_per_network: String(DEFAULT_LIMITS.signinsPerNetwork),
  reserve_output_tokens: String(DEFAULT_SETTINGS.reserveOutputTokens),
  reserve_wait: seconds(DEFAULT_SETTINGS.reserveWaitMs),
  memory_budget_mib: String(DEFAULT_SETTINGS.memoryBudgetBytes / 1024 / 1024),
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

function readSetting(context: Context, file: ConfigFile, name: SettingName): SettingRecord {
  const { env, configFile } = context
  const inFile = `${variableOf(name)}_FILE`
  if (name === 'smtp.url' && env[inFile]) return { name, value: env[inFile], origin: inFile }
  const found = findSetting(env, file, name)
  if (found === undefined) {
    const value = DEFAULTS[name] ?? null
    return { name, value, origin: value === null ? null : 'default' }
  }
  const origin = found.name === name ? configFile.path : found.name
  const hide = SECRET[name]
  return { name, value: hide ? hide(found.text) : found.text, origin }
}

function withoutPassword(text: string): string {
  const url = URL.parse(text.trim())
  if (url === null) return '(hidden)'
  if (url.password !== '') url.password = '…'
  return decodeURIComponent(url.href)
}

/** Settings that may hold a password, and how they are shown without it. */
const SECRET: Partial<Readonly<Record<SettingName, (text: string) => string>>> = {
  'smtp.url': withoutPassword,
  store: (text) => {
    try {
      return renderAddress(readAddress(text))
    } catch {
      return '(hidden)'
    }
  },
}

/** Locations, which the configuration file cannot set. */
function placesOf(
  { env, dataDir, adminSocket, configFile }: Context,
  flags: Flags,
): readonly SettingRecord[] {
  const origin = (flag: string | undefined, variables: readonly string[]): string =>
    flag === undefined ? (variables.find((name) => env[name]) ?? 'default') : 'flag'
  return [
    {
      name: 'data_dir',
      value: dataDir,
      origin: origin(flags.dataDir, ['GATEWAY_DATA_DIR', 'STATE_DIRECTORY']),
    },
    {
      name: 'config',
      value: configFile.path,
      origin: origin(flags.config, ['GATEWAY_CONFIG', 'CONFIGURATION_DIRECTORY']),
    },
    {
      name: 'admin_socket',
      value: adminSocket,
      origin: origin(undefined, ['GATEWAY_ADMIN_SOCKET']),
    },
  ]
}
