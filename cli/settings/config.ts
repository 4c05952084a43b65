/** The settings of a serving process: flag > variable > file > default. */
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { ACTIVITY_KEPT_MS, MIN_ACTIVITY_KEPT_MS } from '#domain/activity.ts'
import { DAY_MS } from '#domain/clock.ts'
import { DEFAULT_SETTINGS, type Settings } from '#domain/settings.ts'
import { MIN_BUDGET_BYTES } from '#http/read/byte-budget.ts'
import type { Context, Environment } from '../context.ts'
import { usageError } from '../exit.ts'
import { readCount, readDuration } from '../flags/read-value.ts'
import { allCores, MAX_PROCESSES } from '../serve/processes.ts'
import { type ConfigFile, readConfigFile, type SettingName } from './config-file.ts'
import { type FoundSetting, findSetting as find } from './find-setting.ts'

export interface ServeSettings {
  readonly hostname: string
  readonly port: number
  /** Without a path: `https://gateway.example`. */
  readonly baseUrl: string
  /** How many processes serve. */
  readonly processes: number
  readonly gateway: Settings
  /** How long the log keeps a request; null is forever. */
  readonly activityKeptMs: number | null
}

export interface ServeFlags {
  readonly listen?: string
  readonly baseUrl?: string
  readonly processes?: string
}

/** Loopback: other machines get access only when the operator says so. */
export const DEFAULT_LISTEN = '127.0.0.1:4140'

/** Where to listen, what applications call it, how long to wait. @throws CommandError 2 for a bad value or an unknown setting */
export function readServeSettings(context: Context, flags: ServeFlags): ServeSettings {
  const file = readConfigFile(context)
  const { env } = context
  const found = find(env, file, 'listen')
  const { hostname, port } = readListen(
    flags.listen ?? found?.text ?? DEFAULT_LISTEN,
    flags.listen === undefined ? found?.name : '--listen',
  )
  const kept = find(env, file, 'retention.activity')
  const stated = flags.baseUrl ?? find(env, file, 'base_url')?.text
  return {
    hostname,
    port,
    baseUrl: stated === undefined ? addressOf(hostname, port) : readBase(stated),
    processes: readProcesses(
      flags.processes === undefined
        ? find(env, file, 'processes')
        : { text: flags.processes, name: '--processes' },
    ),
    gateway: readGateway(env, file),
    activityKeptMs: kept ? readKept(kept) : ACTIVITY_KEPT_MS,
  }
}

/** The URL for a browser on this machine. */
export function addressOf(hostname: string, port: number): string {
  const host = ['0.0.0.0', '::', '[::]'].includes(hostname) ? '127.0.0.1' : hostname
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

/** The public URL, for hints; the default where the configuration is invalid. */
export function readBaseUrl(context: Context): string {
  try {
    return readServeSettings(context, {}).baseUrl
  } catch {
    return `http://${DEFAULT_LISTEN}`
  }
}

function readGateway(env: Environment, file: ConfigFile): Settings {
  const timeout = (name: SettingName, usualMs: number): number => {
    const found = find(env, file, name)
    return found ? readTimeout(found) : usualMs
  }
  const tokens = find(env, file, 'reserve_output_tokens')
  const wait = find(env, file, 'reserve_wait')
  const memory = find(env, file, 'memory_budget_mib')
  const usual = DEFAULT_SETTINGS
  return {
    reserveOutputTokens: tokens ? readTokens(tokens) : usual.reserveOutputTokens,
    reserveWaitMs: wait ? readWait(wait) : usual.reserveWaitMs,
    memoryBudgetBytes: memory ? readMemory(memory) : usual.memoryBudgetBytes,
    connectTimeoutMs: timeout('upstream.connect_timeout', usual.connectTimeoutMs),
    firstByteTimeoutMs: timeout('upstream.first_byte_timeout', usual.firstByteTimeoutMs),
    silenceTimeoutMs: timeout('upstream.silence_timeout', usual.silenceTimeoutMs),
    totalTimeoutMs: timeout('upstream.total_timeout', usual.totalTimeoutMs),
  }
}

function readTimeout({ name, text }: FoundSetting): number {
  const ms = readDuration(name, text)
  if (ms > 0 && ms <= DAY_MS) return ms
  throw usageError(`${name} must be at least 1s and at most 24h (got "${text}")`)
}

/** `0s` is not to wait. A timer of more than 24 days would end at once. */
export function readWait({ name, text }: FoundSetting): number {
  const ms = readDuration(name, text)
  if (ms <= DAY_MS) return ms
  throw usageError(`${name} must be at most 24h, and 0s is not to wait (got "${text}")`)
}

const MEBIBYTE = 1024 * 1024
const MIN_MEMORY_MIB = MIN_BUDGET_BYTES / MEBIBYTE
const MAX_MEMORY_MIB = 1024 * 1024

function readMemory({ name, text }: FoundSetting): number {
  const mebibytes = readCount(name, text)
  if (mebibytes >= MIN_MEMORY_MIB && mebibytes <= MAX_MEMORY_MIB) return mebibytes * MEBIBYTE
  throw usageError(
    `${name} must be from ${MIN_MEMORY_MIB}, so that a key can send a body of 32 MiB, to ${MAX_MEMORY_MIB} (got "${text}")`,
  )
}

function readProcesses(found: FoundSetting | undefined): number {
  if (found === undefined) return 1
  if (found.text === 'auto') return allCores()
  const count = /^\d{1,3}$/.test(found.text) ? Number(found.text) : 0
  if (count >= 1 && count <= MAX_PROCESSES) return count
  throw usageError(
    `${found.name} must be auto, or from 1 to ${MAX_PROCESSES} (got "${found.text}")`,
  )
}

/** Null for `none`: forever. */
function readKept({ name, text }: FoundSetting): number | null {
  if (text === 'none') return null
  const ms = readDuration(name, text, 'none')
  if (ms >= MIN_ACTIVITY_KEPT_MS) return ms
  throw usageError(
    `${name} must be at least 24h, or none (got "${text}")\ndaily request limits are counted from the log after a restart`,
    'retention.activity = "90d"',
  )
}

/** No model writes more in one answer, and a larger hold could exceed the maximum amount. */
const MAX_RESERVED_TOKENS = 1_000_000

function readTokens({ name, text }: FoundSetting): number {
  const tokens = readCount(name, text)
  if (tokens <= MAX_RESERVED_TOKENS) return tokens
  throw usageError(`${name} must be at most ${MAX_RESERVED_TOKENS} (got "${text}")`)
}

/** `name` is the flag, variable or setting that the value came from. @throws CommandError 2 */
export function readListen(
  text: string,
  name = 'listen',
  usual = DEFAULT_LISTEN,
): { readonly hostname: string; readonly port: number } {
  const match = /^(?:(\[[0-9a-f:.]+\]|[^:\s]+)?:)?(\d{1,5})$/i.exec(text)
  const port = Number(match?.[2] ?? -1)
  if (!match || port > 65_535 || port < 0) {
    throw usageError(`${name} must be host:port such as ${usual} (got "${text}")`)
  }
  return { hostname: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

function readBase(text: string): string {
  const url = parseAbsoluteUrl(text)
  if (url && (url.protocol === 'http:' || url.protocol === 'https:') && url.search === '') {
    return text.replace(/\/+$/, '').replace(/\/v1$/, '')
  }
  throw usageError(
    `base URL must be an http or https address such as https://gateway.example.org (got "${text}")`,
  )
}
