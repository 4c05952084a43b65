// The compiled gateway watched from outside: what Prometheus scrapes, what the request log says, and that no secret is in either.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { freePort } from '#test/support/free-port.ts'
import { never, openReceiver } from '#test/support/receiver.ts'
import { readMetrics } from '../telemetry/read-metrics.ts'

const cli = openCli()
const receiver = openReceiver(() => Response.json({}))
let gateway: Appliance
const FOREIGN_SECRET = 'sk-foreign-canary-0123456789'
let secret = ''
let keyId = ''

const metricsUrl = (): string => /"msg":"metrics on (http:[^"]+)/.exec(gateway.said())?.[1] ?? ''
const scrape = async (): Promise<string> => await (await fetch(metricsUrl())).text()

beforeAll(async () => {
  furnishCli(cli)
  const made = cli.json<{ id: string; key: string }>([
    'keys',
    'create',
    'watched',
    '--rpm',
    '3',
    '--daily-usd',
    '5',
  ])
  ;({ key: secret, id: keyId } = made)
  gateway = await startAppliance(cli, {
    flags: ['--metrics-listen', '127.0.0.1:0', '--log', 'json'],
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-receiver-key=receiver%2Dcanary',
      OTEL_SERVICE_NAME: 'watched-gateway',
    },
  })
  await until(() => metricsUrl() !== '', 'it says where metrics are')
  const ask = { model: 'demo/echo', messages: [{ role: 'user', content: 'prompt-canary' }] }
  await (await gateway.chat(secret, ask)).text()
  await (await gateway.chat(secret, { ...ask, stream: true, user: 'user-canary' })).text()
  // A client that puts its secret wherever it can.
  const headers = { authorization: `Bearer ${secret}`, 'x-request-id': secret }
  const withKeyInUser = { ...ask, model: secret }
  await fetch(`${gateway.url}/v1/chat/completions?key=${secret}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(withKeyInUser),
  }).then((r) => r.text())
  await fetch(`${gateway.url}/v1/models/${secret}`, { headers }).then((r) => r.text())
  // A key of ours is no request id; one of a provider's is, and is struck out of the log.
  await fetch(`${gateway.url}/v1/models`, {
    headers: { ...headers, 'x-request-id': FOREIGN_SECRET },
  }).then((r) => r.text())
  await (await gateway.chat(secret, ask)).text()
  await (await gateway.chat(secret, ask)).text()
})
afterAll(async () => {
  await gateway.kill()
  await receiver.close()
  cli.close()
})

const lines = (): readonly Record<string, unknown>[] =>
  gateway
    .said()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'request')

const LOG_FIELDS = [
  'ts',
  'level',
  'msg',
  'route',
  'request_id',
  'generation_id',
  'key',
  'surface',
  'session',
  'model',
  'provider',
  'status',
  'code',
  'prompt_tokens',
  'completion_tokens',
  'images',
  'cost_usd',
  'ttft_ms',
  'total_ms',
]

describe('the request log', () => {
  test('has a line per request, of these fields and no others', async () => {
    await until(() => lines().length >= 6, 'six lines')
    for (const line of lines()) expect(Object.keys(line)).toEqual(LOG_FIELDS)
    expect(lines()[0]).toMatchObject({ route: 'chat', status: 200, key: keyId, model: 'demo/echo' })
  })

  test('pretty lines say it to people', async () => {
    const other = openCli()
    furnishCli(other)
    const made = other.json<{ key: string }>(['keys', 'create', 'p'])
    const pretty = await startAppliance(other, { flags: ['--log', 'pretty'] })
    await (
      await pretty.chat(made.key, {
        model: 'demo/echo',
        messages: [{ role: 'user', content: 'x' }],
      })
    ).text()
    await until(() => /\dZ 200 demo\/echo +\d\.\d\ds +\$0\.\d+ req_/.test(pretty.said()), 'a line')
    await pretty.stop()
    other.close()
  })
})

test('what leaves has neither secret nor words: not the log, not metrics, not traces', async () => {
  await until(() => receiver.received.length > 0, 'traces come')
  const all = [gateway.said(), await scrape(), ...receiver.received.map(({ body }) => body)].join(
    '\n',
  )
  for (const canary of [secret, secret.slice(3, 40), 'prompt-canary', 'receiver-canary']) {
    expect(all).not.toContain(canary)
  }
  expect(gateway.said()).not.toContain(FOREIGN_SECRET)
  expect(gateway.said()).toContain('[struck out]')
})

test('traces come by the variables of OpenTelemetry', async () => {
  await until(() => receiver.received.length > 0, 'traces come')
  const [first] = receiver.received
  expect(first?.path).toBe('/v1/traces')
  expect(first?.headers).toMatchObject({ 'x-receiver-key': 'receiver-canary' })
  expect(first?.body).toContain('"watched-gateway"')
  expect(first?.body).toContain('"gen_ai.request.model"')
})

test('a receiver that hangs keeps nobody from stopping the gateway', async () => {
  const hanging = openReceiver(never)
  const other = openCli()
  try {
    furnishCli(other)
    const { key } = other.json<{ key: string }>(['keys', 'create', 'k'])
    const env = { GATEWAY_TRACES_ENDPOINT: `${hanging.url}/v1/traces` }
    const served = await startAppliance(other, { env })
    const ask = { model: 'demo/echo', messages: [{ role: 'user', content: 'x' }] }
    await (await served.chat(key, ask)).text()
    const before = performance.now()
    expect(await served.stop()).toBe(0)
    // Without its bound: three tries of five seconds each.
    expect(performance.now() - before).toBeLessThan(8_000)
    expect(served.said()).toContain('the last traced requests were lost')
  } finally {
    other.close()
    await hanging.close()
  }
})

test('a scrape tells the same as the log', async () => {
  const metrics = readMetrics(await scrape())
  expect(metrics.value('gateway_requests_total', { key: keyId, status: '200' })).toBe(3)
  expect(metrics.value('gateway_limited_total', { key: keyId, limit: 'rpm' })).toBe(1)
  expect(metrics.value('gateway_key_used', { key: keyId, limit: 'rpm' })).toBe(3)
  expect(metrics.value('gateway_key_info', { key: keyId, name: 'watched' })).toBe(1)
})

describe('beyond loopback', () => {
  test('metrics need a token, or the gateway does not start', () => {
    const { code, err } = cli.run(['serve', '--metrics-listen', '0.0.0.0:4142'])
    expect(code).toBe(2)
    expect(err).toMatch(/on 0\.0\.0\.0 they need a token/)
    const short = cli.run(['serve', '--metrics-listen', '0.0.0.0:4142'], {
      env: { GATEWAY_METRICS_TOKEN: 'shortcanary' },
    })
    expect(short.code).toBe(2)
    expect(short.err).not.toContain('shortcanary')
  })

  test('an address in use is reported with its flag', () => {
    const taken = metricsUrl().slice('http://'.length, -'/metrics'.length)
    const { code, err } = cli.run([
      'serve',
      '--demo',
      '--listen',
      '127.0.0.1:0',
      '--auth-listen',
      'off',
      '--metrics-listen',
      taken,
    ])
    expect([code, err]).toEqual([1, expect.stringContaining(`cannot listen on ${taken}`)])
    expect(err).toContain('--metrics-listen')
  })
})

const tool = (name: string): string | null => Bun.which(name)
const promtool = tool('promtool')
const prometheus = tool('prometheus')
if (!promtool) console.warn('promtool: skipped, not on the PATH')
if (!prometheus) console.warn('prometheus: skipped, not on the PATH')

const ALERTS = 'docs/monitoring/alerts.yml'
const DASHBOARD = 'docs/monitoring/grafana-dashboard.json'

describe.skipIf(!promtool)('promtool', () => {
  test('accepts the alert rules', () => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', 'check', 'rules', ALERTS])
    expect(`${stdout}${stderr}`).toContain('SUCCESS: 6 rules found')
    expect(exitCode).toBe(0)
  })

  test('raises each alert when it should, and at no other time', () => {
    const file = 'test/telemetry/alerts.yml'
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', 'test', 'rules', file])
    expect([exitCode, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')])
    const named = (text: string, field: string): ReadonlySet<string> =>
      new Set([...text.matchAll(new RegExp(`${field}: (\\w+)`, 'g'))].map(([, name = '']) => name))
    expect(named(readFileSync(file, 'utf8'), 'alertname')).toEqual(
      named(readFileSync(ALERTS, 'utf8'), 'alert'),
    )
  })

  test('finds nothing to say of the metrics', async () => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', 'check', 'metrics'], {
      stdin: Buffer.from(await scrape()),
    })
    expect([exitCode, `${stdout}${stderr}`]).toEqual([0, ''])
  })
})

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

/** Names of the dashboard and of the alerts are those that a scrape has, or that need what this gateway has not. */
const ABSENT = [
  'gateway_low_balance_threshold_usd',
  'gateway_upstream_errors_total',
  'gateway_images_total',
]

test('the dashboard and the alerts ask for nothing that is not there', async () => {
  const text = await scrape()
  const named = [readFileSync(DASHBOARD, 'utf8'), readFileSync(ALERTS, 'utf8')]
    .flatMap((file) => file.match(/\b(?:gateway|process)_[a-z_]+/g) ?? [])
    .filter((name) => !ABSENT.includes(name))
  expect(named.length).toBeGreaterThanOrEqual(20)
  for (const name of new Set(named)) expect(text).toMatch(new RegExp(`^${name}[ {]`, 'm'))
})

describe.skipIf(!prometheus)('a real Prometheus', () => {
  const port = freePort()
  const api = async (query: string) => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`
    const answer = (await (await fetch(url)).json()) as {
      status: string
      error?: string
      data?: { result: { value: [number, string] }[] }
    }
    return { error: answer.error ?? null, result: answer.data?.result ?? [] }
  }
  let server: Bun.Subprocess

  beforeAll(async () => {
    const config = join(cli.home, 'prometheus.yml')
    await Bun.write(
      config,
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [join(process.cwd(), ALERTS)],
        scrape_configs: [
          {
            job_name: 'gatewayctl',
            static_configs: [{ targets: [new URL(metricsUrl()).host] }],
          },
        ],
      }),
    )
    server = Bun.spawn(
      [
        prometheus ?? '',
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(cli.home, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdout: 'ignore', stderr: 'ignore' },
    )
    await until(async () => {
      const found = await api('sum(gateway_requests_total)').catch(() => null)
      return (found?.result.length ?? 0) > 0
    }, 'it has scraped')
  })
  afterAll(async () => {
    server.kill('SIGKILL')
    await server.exited
  })

  test('has what was counted', async () => {
    const { result } = await api(`sum(gateway_requests_total{key="${keyId}",status="200"})`)
    expect(result[0]?.value[1]).toBe('3')
  })

  test('understands every question of the dashboard', async () => {
    const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        const { error } = await api(expr.replaceAll('$instance', '.*'))
        expect([title, error]).toEqual([title, null])
      }
    }
  })

  test('evaluates every rule', async () => {
    const groups = async () =>
      (
        (await (await fetch(`http://127.0.0.1:${port}/api/v1/rules`)).json()) as {
          data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] }
        }
      ).data.groups.flatMap(({ rules }) => rules)
    await until(
      async () => (await groups()).every(({ health }) => health !== 'unknown'),
      'they ran',
    )
    expect((await groups()).map(({ health }) => health)).toEqual(new Array(6).fill('ok'))
  })
})
