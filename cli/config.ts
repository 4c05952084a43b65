/** The configuration file: TOML, settings of the process only; what serves is flag > variable > file > default. */
import { readFileSync } from 'node:fs'
import { nearest } from '#operator/nearest.ts'
import type { Context } from './context.ts'
import { CommandError, EXIT, usageError } from './exit.ts'

export interface ServeSettings {
  readonly hostname: string
  readonly port: number
  /** Without a path: `https://gateway.example`. */
  readonly baseUrl: string
}

export interface ServeFlags {
  readonly listen?: string
  readonly baseUrl?: string
}

const DEFAULT_LISTEN = '127.0.0.1:4140'
const KEYS = ['listen', 'base_url'] as const

type ConfigFile = Partial<Record<(typeof KEYS)[number], string>>

/** Where to listen and what applications call it. @throws CommandError 2 for a bad value or an unknown key */
export function readServeSettings(context: Context, flags: ServeFlags): ServeSettings {
  const file = readConfigFile(context)
  const { env } = context
  const listen = flags.listen ?? (env['GATEWAY_LISTEN'] || file.listen) ?? DEFAULT_LISTEN
  const stated = flags.baseUrl ?? (env['GATEWAY_BASE_URL'] || file.base_url)
  const { hostname, port } = readListen(listen)
  const host = ['0.0.0.0', '::', '[::]'].includes(hostname) ? '127.0.0.1' : hostname
  const shown = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return {
    hostname,
    port,
    baseUrl: stated === undefined ? `http://${shown}:${port}` : readBase(stated),
  }
}

/** The address that applications use, for hints; a broken configuration is not this command's affair. */
export function readBaseUrl(context: Context): string {
  try {
    return readServeSettings(context, {}).baseUrl
  } catch {
    return `http://${DEFAULT_LISTEN}`
  }
}

function readConfigFile({ configFile: { path, isNamed } }: Context): ConfigFile {
  const text = readText(path, isNamed)
  const table = parse(path, text)
  for (const [key, value] of Object.entries(table)) {
    if (!KEYS.some((known) => known === key)) throw unknownKey(path, key)
    if (typeof value !== 'string') throw usageError(`${path}: ${key} must be a text in quotes`)
  }
  return table as ConfigFile
}

function readText(path: string, isNamed: boolean): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : ''
    if (code === 'ENOENT' && !isNamed) return ''
    throw new CommandError('config', EXIT.failed, `cannot read the configuration ${path}: ${code}`)
  }
}

function parse(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return Bun.TOML.parse(text) as Record<string, unknown>
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw usageError(`${path} is not TOML: ${why}`)
  }
}

function unknownKey(path: string, key: string): CommandError {
  const meant = nearest(key, KEYS)
  const suggestion = meant ? `\ndid you mean ${meant}?` : ''
  return usageError(
    `${path}: there is no setting "${key}"${suggestion}`,
    `known: ${KEYS.join(', ')}`,
  )
}

function readListen(text: string): { readonly hostname: string; readonly port: number } {
  const match = /^(?:(\[[0-9a-f:.]+\]|[^:\s]+)?:)?(\d{1,5})$/i.exec(text)
  const port = Number(match?.[2] ?? -1)
  if (!match || port > 65_535 || port < 0) {
    throw usageError(`listen must be host:port such as ${DEFAULT_LISTEN} (got "${text}")`)
  }
  return { hostname: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

function readBase(text: string): string {
  const url = URL.parse(text)
  if (url && (url.protocol === 'http:' || url.protocol === 'https:') && url.search === '') {
    return text.replace(/\/+$/, '').replace(/\/v1$/, '')
  }
  throw usageError(`base URL must be an http or https address (got "${text}")`)
}
