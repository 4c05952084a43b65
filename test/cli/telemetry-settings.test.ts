// What turns metrics and traces on, and what is refused without repeating a secret.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openContext } from '#cli/context.ts'
import { readTelemetrySettings } from '#cli/settings/telemetry-settings.ts'

const home = mkdtempSync(join(tmpdir(), 'gwctl-telemetry-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const TOKEN = 'a-token-of-some-length'
const tokenFile = join(home, 'token')
writeFileSync(tokenFile, `${TOKEN}\n`)
const config = join(home, 'config.toml')
writeFileSync(
  config,
  '[metrics]\nlisten = "127.0.0.1:4199"\n[traces]\nendpoint = "http://127.0.0.1:1/t"\n',
)

const read = (env: Readonly<Record<string, string>>, metricsListen?: string) =>
  readTelemetrySettings(
    openContext(
      { dataDir: home, quiet: true },
      { HOME: home, XDG_CONFIG_HOME: join(home, 'none'), ...env },
    ),
    metricsListen === undefined ? {} : { metricsListen },
  )

test('both are off by default', () => {
  expect(read({})).toEqual({ metrics: null, traces: null })
  expect(read({ GATEWAY_METRICS_LISTEN: 'off', GATEWAY_METRICS_TOKEN: TOKEN }).metrics).toBeNull()
})

test.each([
  [{}, '127.0.0.1:4142', { listen: { hostname: '127.0.0.1', port: 4142 }, token: null }],
  [
    { GATEWAY_METRICS_LISTEN: '[::1]:1' },
    undefined,
    { listen: { hostname: '::1', port: 1 }, token: null },
  ],
  [
    { GATEWAY_CONFIG: config },
    undefined,
    { listen: { hostname: '127.0.0.1', port: 4199 }, token: null },
  ],
  [{ GATEWAY_CONFIG: config }, 'off', null],
  [
    { GATEWAY_METRICS_TOKEN_FILE: tokenFile },
    '0.0.0.0:4142',
    { listen: { hostname: '0.0.0.0', port: 4142 }, token: TOKEN },
  ],
  [
    { GATEWAY_METRICS_TOKEN: TOKEN },
    '10.0.0.7:4142',
    { listen: { hostname: '10.0.0.7', port: 4142 }, token: TOKEN },
  ],
])('metrics of %j and the flag %j', (env, flag, expected) => {
  expect(read(env, flag).metrics).toEqual(expected)
})

test.each([
  [{}, '0.0.0.0:4142', /they need a token/],
  [{}, '127.0.0.1.example:4142', /must be host:port|they need a token/],
  [{ GATEWAY_METRICS_TOKEN: 'secret-canary' }, '127.0.0.1:1', /GATEWAY_METRICS_TOKEN must hold/],
  [{ GATEWAY_METRICS_TOKEN: 'secret canary with spaces' }, '127.0.0.1:1', /must hold/],
  [{ GATEWAY_METRICS_TOKEN_FILE: join(home, 'no') }, '127.0.0.1:1', /cannot read/],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'secret-canary' }, undefined, /must be an http or https address/],
  [{ GATEWAY_TRACES_ENDPOINT: 'http:secret-canary:4318' }, undefined, /such as http:\/\//],
  [{ GATEWAY_TRACES_ENDPOINT: 'http://u:secret-canary@h/' }, undefined, /without a password/],
  [
    { GATEWAY_TRACES_ENDPOINT: 'http://h/', OTEL_EXPORTER_OTLP_HEADERS: 'secret-canary' },
    undefined,
    /name=value/,
  ],
])('%j with the flag %j is refused', (env, flag, words) => {
  const told = (): string => {
    try {
      read(env, flag)
    } catch (thrown) {
      return String(thrown)
    }
    return 'it was accepted'
  }
  expect(told()).toMatch(words)
  expect(told()).not.toMatch(/secret.canary/)
})

const HOST = 'http://otel.example:4318'

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${HOST}/` }, `${HOST}/v1/traces`],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${HOST}/own` }, `${HOST}/own`],
  [{ GATEWAY_TRACES_ENDPOINT: `${HOST}/ours`, OTEL_EXPORTER_OTLP_ENDPOINT: HOST }, `${HOST}/ours`],
  [{ GATEWAY_CONFIG: config }, 'http://127.0.0.1:1/t'],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: HOST, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    `${HOST}/v1/traces`,
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: HOST, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: HOST, OTEL_SDK_DISABLED: 'true' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: HOST, OTEL_TRACES_EXPORTER: 'none' }, undefined],
])('%j sends traces to %s', (env, url) => {
  expect(read(env).traces?.url).toBe(url)
})

test('headers and the name of the service come along', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: HOST,
    OTEL_EXPORTER_OTLP_HEADERS: 'Api-Key=a%20b, x-team = core',
    OTEL_SERVICE_NAME: 'edge',
  }
  expect(read(env).traces).toMatchObject({
    headers: { 'api-key': 'a b', 'x-team': 'core' },
    serviceName: 'edge',
  })
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: HOST }).traces?.serviceName).toBe('gatewayctl')
})
