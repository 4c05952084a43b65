/** The context of one command: its locations (flag > GATEWAY_* > systemd > XDG), global flags and terminal. */
import { join, resolve } from 'node:path'
import { type SettableClock, settable, systemClock } from '#domain/clock.ts'
import { usageError } from './exit.ts'
import { os } from './os.ts'
import { isTerminal } from './terminal/streams.ts'

/** The flags that every command takes. */
export interface GlobalFlags {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly yes?: boolean
  readonly input?: boolean
  readonly color?: boolean
  readonly debug?: boolean
  readonly dataDir?: string
  readonly config?: string
  readonly account?: string
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface Context {
  readonly env: Environment
  readonly clock: SettableClock
  /** The command line itself: hints repeat its global options. */
  readonly typed: readonly string[]
  readonly dataDir: string
  /** The configuration file, and whether it was given explicitly: then it must exist. */
  readonly configFile: { readonly path: string; readonly isNamed: boolean }
  /** Whether the location of the gateway was given explicitly. */
  readonly isLocationGiven: boolean
  readonly adminSocket: string
  /** Whether that is the socket of a demo. */
  readonly isDemo: boolean
  /** The `--account` flag as input fields of a verb; empty where it was not given. */
  readonly accountInput: { readonly account?: string }
  readonly json: boolean
  readonly quiet: boolean
  readonly yes: boolean
  readonly debug: boolean
  /** Whether standard error is part of a JSON log, so that notes are lines of it (`serve --log json`). */
  readonly isJsonLog: boolean
  /** Whether the command may prompt. */
  readonly canPrompt: () => boolean
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean
  readonly columns: number
  readonly color: boolean
}

const NARROWEST_COLUMNS = 40
const USUAL_COLUMNS = 80

/** Gathers flags, environment and terminal; touches no file. @throws CommandError 2 for an empty path */
export function openContext(
  flags: GlobalFlags,
  env: Environment = process.env,
  typed: readonly string[] = process.argv.slice(2),
): Context {
  requirePath('--data-dir', flags.dataDir)
  requirePath('--config', flags.config)
  const named = flags.dataDir ?? set(env['GATEWAY_DATA_DIR']) ?? systemd(env['STATE_DIRECTORY'])
  const socket = set(env['GATEWAY_ADMIN_SOCKET'])
  const dataDir = resolve(named ?? xdg(env))
  const isRead = isTerminal(1)
  return {
    env,
    clock: settable(systemClock),
    typed,
    dataDir,
    configFile: configFile(flags, env),
    isLocationGiven: named !== undefined || socket !== undefined,
    adminSocket: resolve(socket ?? join(dataDir, 'run', 'admin.sock')),
    isDemo: false,
    accountInput: flags.account === undefined ? {} : { account: flags.account },
    json: flags.json === true,
    quiet: flags.quiet === true,
    yes: flags.yes === true,
    debug: flags.debug === true,
    isJsonLog: false,
    canPrompt: () => flags.input !== false && !set(env['GATEWAY_NO_INPUT']) && isTerminal(0),
    isTerminal: isRead,
    columns: isRead ? Math.max(NARROWEST_COLUMNS, process.stdout.columns) : USUAL_COLUMNS,
    color: flags.color !== false && wantsColor(env, isRead),
  }
}

/** An empty path is usually an unset variable in a script, and would mean the working directory. */
function requirePath(flag: string, stated: string | undefined): void {
  if (stated === '') throw usageError(`${flag} is empty: give a path`)
}

/** An empty variable counts as unset. */
const set = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

/** systemd lists several directories with colons; the first is ours. */
const systemd = (text: string | undefined): string | undefined => set(text)?.split(':')[0]

const xdg = (env: Environment): string =>
  join(set(env['XDG_DATA_HOME']) ?? join(homeOf(env), '.local', 'share'), 'gatewayctl')

/** As `node:os` has it, which is not loaded where the environment says it. */
const homeOf = (env: Environment): string => set(env['HOME']) ?? os().homedir()

function configFile(flags: GlobalFlags, env: Environment): Context['configFile'] {
  const named = flags.config ?? set(env['GATEWAY_CONFIG'])
  if (named !== undefined) return { path: resolve(named), isNamed: true }
  const directory =
    systemd(env['CONFIGURATION_DIRECTORY']) ??
    join(set(env['XDG_CONFIG_HOME']) ?? join(homeOf(env), '.config'), 'gatewayctl')
  return { path: join(directory, 'config.toml'), isNamed: false }
}

function wantsColor(env: Environment, isRead: boolean): boolean {
  if (set(env['NO_COLOR']) !== undefined || env['TERM'] === 'dumb') return false
  const forced = set(env['FORCE_COLOR'])
  return forced === undefined ? isRead : forced !== '0'
}
