/** The configuration file: TOML, settings of the process only; an unknown setting is an error. */
import { accessSync, constants, readFileSync } from 'node:fs'
import { isObject } from '#domain/json.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import { didYouMean, nearest } from '#forms/nearest.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { inFile, lineOf, lineOfFault } from '../toml-lines.ts'

/** The type of a value: a string, an integer, a boolean, or a string that may be a list of strings. */
type Kind = 'text' | 'count' | 'flag' | 'list'

/** Every setting, `table.key` as TOML writes it, and its kind. */
const SETTINGS = {
  listen: 'text',
  base_url: 'text',
  processes: 'text',
  store: 'text',
  node: 'text',
  auth_listen: 'text',
  auth_url: 'text',
  auth_signup: 'list',
  auth_passkeys: 'text',
  auth_codes_per_address: 'count',
  auth_codes_per_network: 'count',
  auth_signins_per_network: 'count',
  cabinet: 'text',
  reserve_output_tokens: 'count',
  reserve_wait: 'text',
  memory_budget_mib: 'count',
  'upstream.connect_timeout': 'text',
  'upstream.first_byte_timeout': 'text',
  'upstream.silence_timeout': 'text',
  'upstream.total_timeout': 'text',
  'smtp.url': 'text',
  'smtp.from': 'text',
  'metrics.listen': 'text',
  'metrics.token_file': 'text',
  'traces.endpoint': 'text',
  'network.allow_private_webhooks': 'flag',
  'retention.activity': 'text',
  'cabinet.contact': 'text',
  'brand.name': 'text',
  'brand.logo': 'text',
  'brand.color': 'text',
} as const satisfies Record<string, Kind>

export type SettingName = keyof typeof SETTINGS

/** In the order of the documentation. */
export const NAMES = Object.keys(SETTINGS) as readonly SettingName[]

const isText = (value: unknown): boolean => typeof value === 'string'

const KINDS: Readonly<
  Record<Kind, readonly [expected: string, fits: (value: unknown) => boolean]>
> = {
  text: ['a text in quotes', isText],
  count: ['a whole number', Number.isSafeInteger],
  flag: ['true or false', (value) => typeof value === 'boolean'],
  list: ['a text in quotes, or a list of them', (value) => [value].flat().every(isText)],
}

/** The settings of the file; numbers, booleans and lists as text, as in a variable. */
export type ConfigFile = Partial<Readonly<Record<SettingName, string>>>

/** Empty where the default file does not exist. @throws CommandError 2 for a bad value or an unknown setting */
export function readConfigFile({ configFile: { path, isNamed } }: Context): ConfigFile {
  const text = readText(path, isNamed)
  if (text === '') return {}
  const found: Partial<Record<SettingName, string>> = {}
  for (const [name, value] of flatten(parse(path, text))) {
    const place = (): string => inFile(path, lineOf(text, name.split('.')))
    if (!isSetting(name)) throw unknownSetting(place(), name)
    const [expected, fits] = KINDS[SETTINGS[name]]
    if (!fits(value)) throw usageError(`${place()}: ${name} must be ${expected}`)
    found[name] = String(value)
  }
  return found
}

const isSetting = (name: string): name is SettingName => Object.hasOwn(SETTINGS, name)

function readText(path: string, isNamed: boolean): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (systemCodeOf(cause) === 'ENOENT' && !isNamed) return ''
    throw unreadable(path, cause)
  }
}

/**
 * Refuses a file that was named and cannot be read, in the words of those who read it: a command that needs nothing of it would
 * otherwise pass where `serve` fails. It is not read, because a pipe can be read only once.
 * @throws CommandError 1
 */
export function requireNamedFile({ configFile: { path } }: Context): void {
  try {
    accessSync(path, constants.R_OK)
  } catch (cause) {
    throw unreadable(path, cause, 'create it, or name another with --config or GATEWAY_CONFIG')
  }
}

const unreadable = (path: string, cause: unknown, hint: string | null = null): CommandError =>
  new CommandError(
    'config',
    EXIT.failed,
    `cannot read the configuration ${path}: ${fileFault(cause)}`,
    hint,
  )

type Table = Readonly<Record<string, unknown>>

function parse(path: string, text: string): Table {
  try {
    return Bun.TOML.parse(text) as Table
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw usageError(`${inFile(path, lineOfFault(text))} is not TOML: ${why}`)
  }
}

const isKnownTable = (name: string): boolean => NAMES.some((known) => known.startsWith(`${name}.`))

/** `[upstream]` with `connect_timeout` is `upstream.connect_timeout`. An empty table is ignored if its name is known. */
const flatten = (table: Table, prefix = ''): (readonly [name: string, value: unknown])[] =>
  Object.entries(table).flatMap(([key, value]) => {
    const name = prefix + key
    if (!isObject(value) || (isSetting(name) && !isKnownTable(name))) {
      return [[name, value] as const]
    }
    const inside = flatten(value, `${name}.`)
    return inside.length > 0 || isKnownTable(name) ? inside : [[name, value] as const]
  })

function unknownSetting(place: string, name: string): CommandError {
  const meant = nearest(name, NAMES) ?? inAnotherTable(name)
  const suggestion = didYouMean(meant)
  return usageError(
    `${place}: there is no setting "${name}"${suggestion}`,
    `known: ${NAMES.join(', ')}`,
  )
}

const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

/** Finds a known key in another table, or in none. */
function inAnotherTable(name: string): SettingName | undefined {
  const key = nearest(lastPart(name), NAMES.map(lastPart))
  return NAMES.find((known) => lastPart(known) === key)
}
