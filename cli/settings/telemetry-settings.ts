/** Settings for metrics and traces: flag > variable, also those of OpenTelemetry > file. */
import { parseAbsoluteUrl } from '#domain/absolute-url.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import type { TelemetryOptions } from '#server/observer.ts'
import type { Context, Environment } from '../context.ts'
import { usageError } from '../exit.ts'
import { printNote } from '../terminal/output.ts'
import { readListen } from './config.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import { findSetting, variableOf } from './find-setting.ts'
import { readSettingFile } from './setting-file.ts'

export interface TelemetryFlags {
  readonly metricsListen?: string
}

export const DEFAULT_METRICS_LISTEN = '127.0.0.1:4142'

/** Off by default. @throws CommandError 2 for a bad value, 1 for an unreadable file; never with the token */
export function readTelemetrySettings(context: Context, flags: TelemetryFlags): TelemetryOptions {
  const file = readConfigFile(context)
  return { metrics: readMetrics(context, file, flags), traces: readTraces(context, file) }
}

function readMetrics(
  { env }: Context,
  file: ConfigFile,
  flags: TelemetryFlags,
): TelemetryOptions['metrics'] {
  const found = findSetting(env, file, 'metrics.listen')
  const text = flags.metricsListen ?? found?.text ?? 'off'
  if (text === 'off') return null
  const name = flags.metricsListen === undefined ? (found?.name ?? '') : '--metrics-listen'
  const listen = readListen(text, name, DEFAULT_METRICS_LISTEN)
  const token = readToken(env, file)
  if (token === null && !isLoopbackHost(listen.hostname)) {
    throw usageError(
      `metrics show names and spend of keys: on ${listen.hostname} they need a token`,
      `${TOKEN_FILE_VARIABLE}=/etc/gatewayctl/metrics.token, or --metrics-listen ${DEFAULT_METRICS_LISTEN}`,
    )
  }
  return { listen, token }
}

const TOKEN_VARIABLE = 'GATEWAY_METRICS_TOKEN'
const TOKEN_FILE_VARIABLE = variableOf('metrics.token_file')
const MIN_TOKEN_CHARS = 16

function readToken(env: Environment, file: ConfigFile): string | null {
  const path = findSetting(env, file, 'metrics.token_file')
  const token = path ? readSettingFile(path.text, path.name).trim() : env[TOKEN_VARIABLE]
  if (!path && !token) return null
  if (token !== undefined && /^[\x21-\x7e]+$/.test(token) && token.length >= MIN_TOKEN_CHARS) {
    return token
  }
  throw usageError(
    `${path?.name ?? TOKEN_VARIABLE} must hold at least ${MIN_TOKEN_CHARS} characters without spaces`,
    'openssl rand -hex 24',
  )
}

const OTLP = 'OTEL_EXPORTER_OTLP'

/** Uses the standard OpenTelemetry variables; only the general endpoint gets the path /v1/traces appended. */
function readTraces(context: Context, file: ConfigFile): TelemetryOptions['traces'] {
  const { env } = context
  if (env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return null
  const own = findSetting(env, file, 'traces.endpoint')
  const general = env[`${OTLP}_ENDPOINT`]
  const stated =
    own ??
    named(`${OTLP}_TRACES_ENDPOINT`, env[`${OTLP}_TRACES_ENDPOINT`]) ??
    named(`${OTLP}_ENDPOINT`, general && `${general.replace(/\/+$/, '')}/v1/traces`)
  if (stated === undefined) return null
  const protocol = env[`${OTLP}_TRACES_PROTOCOL`] || env[`${OTLP}_PROTOCOL`]
  if (own === undefined && protocol && protocol !== 'http/json') {
    printNote(
      context,
      `! traces are off: only http/json is supported, and ${OTLP}_PROTOCOL is ${protocol}`,
    )
    return null
  }
  return {
    url: readEndpoint(stated.name, stated.text),
    headers: readHeaders(env[`${OTLP}_TRACES_HEADERS`] || env[`${OTLP}_HEADERS`] || ''),
    serviceName: env['OTEL_SERVICE_NAME'] || 'gatewayctl',
  }
}

const named = (name: string, text: string | undefined) => (text ? { name, text } : undefined)

function readEndpoint(name: string, text: string): string {
  const url = parseAbsoluteUrl(text)
  if (url && (url.protocol === 'http:' || url.protocol === 'https:') && !url.username) {
    return url.href
  }
  throw usageError(
    `${name} must be an http or https address without a password, such as http://127.0.0.1:4318`,
  )
}

/** Comma-separated `name=value` pairs, values percent-encoded; errors do not repeat the text, which holds secrets. */
function readHeaders(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = '', value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
      if (name === '') throw usageError(`${OTLP}_HEADERS must be name=value,name=value`)
      return [name.toLowerCase(), decode(value)]
    }),
  )
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
