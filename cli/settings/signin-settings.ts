/** The settings of the sign-in provider: flag > variable > file > default. */
import type { CabinetSettings } from '#cabinet/deps.ts'
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { DEFAULT_LIMITS, type SigninLimits } from '#signin/limits.ts'
import { readAddressRule, type Signup } from '#signin/register/access.ts'
import { PASSKEY_POLICIES, type PasskeyPolicy, relyingPartyOf } from '#signin/register/passkey.ts'
import type { Context, Environment } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCount } from '../flags/read-value.ts'
import { addressOf, readListen } from './config.ts'
import { type ConfigFile, readConfigFile, type SettingName } from './config-file.ts'
import { type FoundSetting, findSetting } from './find-setting.ts'

export interface SigninSettings {
  readonly hostname: string
  readonly port: number
  /** Its public URL; null: the address it listens on. */
  readonly authUrl: string | null
  /** Who becomes a person by verifying an address; others must be added by the operator. */
  readonly signup: Signup
  /** Whether people may sign in with passkeys, or must. */
  readonly passkeys: PasskeyPolicy
  /** Whom people may ask for access. */
  readonly contact: string | undefined
  readonly limits: SigninLimits
  /** Null where it is switched off. */
  readonly cabinet: CabinetSettings | null
  /** Whether an address was given explicitly: then a failure to listen is an error. */
  readonly isStated: boolean
}

export interface SigninFlags {
  readonly authListen?: string
  readonly authUrl?: string
  readonly authSignup?: string
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
  const signup = readSignup(flags.authSignup, findSetting(env, file, 'auth_signup'))
  const passkeys = readPasskeys(findSetting(env, file, 'auth_passkeys'))
  const contact = findSetting(env, file, 'cabinet.contact')?.text
  const named = flags.authUrl ?? findSetting(env, file, 'auth_url')?.text
  const authUrl = named === undefined ? null : readAuthUrl(named)
  const limits = readLimits(env, file)
  const cabinet = readCabinet(findSetting(env, file, 'cabinet')?.text ?? 'on', contact)
  if (stated === 'off') return null
  const usual = gatewayPort === 0 ? '127.0.0.1:0' : DEFAULT_LISTEN
  const name = flags.authListen === undefined ? (found?.name ?? 'auth_listen') : '--auth-listen'
  const { hostname, port } = readListen(stated ?? usual, name, DEFAULT_LISTEN)
  const issuer = authUrl ?? addressOf(hostname, port)
  requirePlace(passkeys, issuer)
  return {
    hostname,
    port,
    authUrl: authUrl ?? (port === 0 ? null : issuer),
    signup,
    passkeys,
    contact,
    limits,
    cabinet,
    isStated: stated !== undefined || named !== undefined,
  }
}

/** By `auth_url` alone: only a gateway knows where it listens. Null without it, and where it is off. @throws CommandError 2 */
export function readCabinetUrl(context: Context): string | null {
  const file = readConfigFile(context)
  const stated = (name: SettingName) => findSetting(context.env, file, name)?.text
  const url = stated('auth_url')
  const isOff = stated('auth_listen') === 'off' || stated('cabinet') === 'off'
  return url === undefined || isOff ? null : `${readAuthUrl(url)}/cabinet`
}

function readPasskeys(found: FoundSetting | undefined): PasskeyPolicy {
  const text = found?.text ?? 'optional'
  const policy = PASSKEY_POLICIES.find((one) => one === text)
  if (policy !== undefined) return policy
  const known = PASSKEY_POLICIES.join(', ')
  throw usageError(`${found?.name} must be one of ${known} (got "${text}")`)
}

/** Where browsers have no passkeys, nobody could sign in with the one that is required. */
function requirePlace(passkeys: PasskeyPolicy, issuer: string): void {
  if (passkeys !== 'required' || relyingPartyOf(issuer) !== null) return
  throw usageError(
    `passkeys are required, and browsers have none at ${issuer}: they need https, and a host name`,
    '--auth-url https://auth.example.org',
  )
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

function readCabinet(text: string, contact: string | undefined): CabinetSettings | null {
  if (text === 'on' || text === 'off') return text === 'off' ? null : { contact: contact ?? null }
  throw usageError(`cabinet must be on or off (got "${text}")`)
}

/** A domain may be written with or without `@`. */
function readSignup(flag: string | undefined, found: FoundSetting | undefined): Signup {
  const text = flag ?? found?.text ?? 'open'
  if (text === 'open') return text
  if (text === 'closed') return []
  const stated = text.split(/[\s,]+/).filter((part) => part !== '')
  const rules = stated.flatMap((part) =>
    part.includes('.') ? (readAddressRule(part.includes('@') ? part : `@${part}`) ?? []) : [],
  )
  if (rules.length > 0 && rules.length === stated.length) return rules
  const name = flag === undefined ? (found?.name ?? 'auth_signup') : '--auth-signup'
  throw usageError(
    `${name} must be open, closed, or domains and addresses such as example.org (got "${text}")`,
  )
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
