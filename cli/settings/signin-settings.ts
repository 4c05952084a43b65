/** The settings of the sign-in provider; what serves is flag > variable > file > default. */

import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { addressOf, readListen } from './config.ts'
import { readConfigFile } from './config-file.ts'
import { findSetting } from './find-setting.ts'

export interface SigninSettings {
  readonly hostname: string
  readonly port: number
  /** What people and applications call it; null: as it listens, on whatever port it gets. */
  readonly authUrl: string | null
  /** Whether anybody who proves an address may sign in, or only whom the operator added. */
  readonly allowsSignup: boolean
  /** Whether somebody said where to listen: then it must. */
  readonly isStated: boolean
}

export interface SigninFlags {
  readonly authListen?: string
  readonly authUrl?: string
}

const DEFAULT_LISTEN = '127.0.0.1:4141'

/**
 * Null where it is switched off (`off`). A gateway on any free port (0) takes one for signing in as well. @throws
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
  if (stated === 'off') return null
  const usual = gatewayPort === 0 ? '127.0.0.1:0' : DEFAULT_LISTEN
  const name = flags.authListen === undefined ? (found?.name ?? 'auth_listen') : '--auth-listen'
  const { hostname, port } = readListen(stated ?? usual, name, DEFAULT_LISTEN)
  return {
    hostname,
    port,
    authUrl: authUrl ?? (port === 0 ? null : addressOf(hostname, port)),
    allowsSignup: signup,
    isStated: stated !== undefined || named !== undefined,
  }
}

function readSignup(text: string): boolean {
  if (text === 'open' || text === 'closed') return text === 'open'
  throw usageError(`auth_signup must be open or closed (got "${text}")`)
}

/** Tokens name it, and applications compare it character by character; so it has one form. */
function readAuthUrl(text: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && ['http:', 'https:'].includes(url.protocol)
  const rest = url === null ? '' : url.pathname + url.search + url.hash + url.username
  if (isPlain && rest === '/' && url.password === '') return url.origin
  throw usageError(
    `auth URL must be an http or https address without a path (got "${text}")`,
    '--auth-url https://auth.example.org',
  )
}
