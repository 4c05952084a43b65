/** The settings of the sign-in provider: flag > variable > file > default. */

import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { addressOf, readListen } from './config.ts'
import { readConfigFile } from './config-file.ts'
import { findSetting } from './find-setting.ts'

export interface SigninSettings {
  readonly hostname: string
  readonly port: number
  /** Its public URL; null: the address it listens on. */
  readonly authUrl: string | null
  /** Whether anyone with a verified e-mail address may sign in, or only people added by the operator. */
  readonly allowsSignup: boolean
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
