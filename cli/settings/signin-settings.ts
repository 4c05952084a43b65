/** The settings of the sign-in provider: flag > variable > file > default. */
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { DEFAULT_LIMITS, type SigninLimits } from '#signin/limits.ts'
import type { Context, Environment } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCount } from '../flags/read-value.ts'
import { addressOf, readListen } from './config.ts'
import { type ConfigFile, readConfigFile, type SettingName } from './config-file.ts'
import { findSetting } from './find-setting.ts'

export interface SigninSettings {
  readonly hostname: string
  readonly port: number
  /** Its public URL; null: the address it listens on. */
  readonly authUrl: string | null
  /** Whether anyone with a verified e-mail address may sign in, or only people added by the operator. */
  readonly allowsSignup: boolean
  readonly limits: SigninLimits
  /** Whether an address was given explicitly: then a failure to listen is an error. */
  readonly isStated: boolean
}

export interface SigninFlags {
  readonly authListen?: string
  readonly authUrl?: string
}

const DEFAULT_LISTEN = '127.0.0.1:4141'

/**
 * Null where it is switched off (`off`). With port 0 for the gateway, sign-in also gets a free port. @throws
 * CommandError 2
 */
export function readSigninSettings(
  context: Context,
  flags: SigninFlags,
  gatewayPort: number,
): SigninSettings | null {
  const file = readConfigFile(context)
  const { env } = context
  const found = findSetting(env, file, 'auth_listen')
  const stated = flags.authListen ?? found?.text
  const signup = readSignup(findSetting(env, file, 'auth_signup')?.text ?? 'open')
  const named = flags.authUrl ?? findSetting(env, file, 'auth_url')?.text
  const authUrl = named === undefined ? null : readAuthUrl(named)
  const limits = readLimits(env, file)
  if (stated === 'off') return null
  const usual = gatewayPort === 0 ? '127.0.0.1:0' : DEFAULT_LISTEN
  const name = flags.authListen === undefined ? (found?.name ?? 'auth_listen') : '--auth-listen'
  const { hostname, port } = readListen(stated ?? usual, name, DEFAULT_LISTEN)
  return {
    hostname,
    port,
    authUrl: authUrl ?? (port === 0 ? null : addressOf(hostname, port)),
    allowsSignup: signup,
    limits,
    isStated: stated !== undefined || named !== undefined,
  }
}

/** A larger one would be no limit, and its window would not fit into memory. */
const MAX_LIMIT = 1_000_000

function readLimits(env: Environment, file: ConfigFile): SigninLimits {
  const read = (name: SettingName, usual: number): number => {
    const found = findSetting(env, file, name)
    if (found === undefined) return usual
    const count = readCount(found.name, found.text)
    if (count <= MAX_LIMIT) return count
    throw usageError(`${found.name} must be at most ${MAX_LIMIT} (got "${found.text}")`)
  }
  return {
    codesPerAddress: read('auth_codes_per_address', DEFAULT_LIMITS.codesPerAddress),
    codesPerNetwork: read('auth_codes_per_network', DEFAULT_LIMITS.codesPerNetwork),
    signinsPerNetwork: read('auth_signins_per_network', DEFAULT_LIMITS.signinsPerNetwork),
  }
}

function readSignup(text: string): boolean {
  if (text === 'open' || text === 'closed') return text === 'open'
  throw usageError(`auth_signup must be open or closed (got "${text}")`)
}

/** Normalised, as tokens contain it and applications compare it byte for byte. */
function readAuthUrl(text: string): string {
  const url = parseAbsoluteUrl(text)
  const isPlain = url !== null && ['http:', 'https:'].includes(url.protocol)
  const rest = url === null ? '' : url.pathname + url.search + url.hash + url.username
  if (isPlain && rest === '/' && url.password === '') return url.origin
  throw usageError(
    `auth URL must be an http or https address without a path (got "${text}")`,
    '--auth-url https://auth.example.org',
  )
}
