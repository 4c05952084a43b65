/** Distinct values are stored wherever a secret is kept, everything is made to fail, and all output is searched for them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { openReceiver } from '#test/support/receiver.ts'
import type { Socket } from '#test/upstream/fixtures.ts'
import {
  type Asked,
  hello,
  openScriptedGateway,
  type ScriptedGateway,
  say,
} from './scripted-gateway.ts'

/** The credential of each provider; the last one does not look like a credential. */
const CREDENTIALS = {
  shaped: ['openai-compatible', 'sk-canary-3f9c1e7a5b2d4860of0the0operator'],
  claude: ['anthropic', 'sk-ant-api03-9d1f7c2b8e4a6053-canary-AAAA'],
  gemini: ['google', 'AIzaSyCanary0d4f8b2c6e1a9375kLmNoPqRsTu'],
  plain: ['openai-compatible', 'Zq8d2f60b1c4e7a935kVw7TgH2'],
} as const
type Name = keyof typeof CREDENTIALS
const NAMES = Object.keys(CREDENTIALS) as readonly Name[]

const MAIL_PASSWORD = 'mailCanary7c1e9b3f5a'
/** Part of every provider's URL. */
const HIDDEN_PATH = 'hidden-path-51c8e2'

/** How a provider fails, repeating everything it knows. */
const FAILURES = ['s400', 's401', 's403', 's404', 's429', 's500', 's529'].concat(
  'garbage',
  'moved',
  'inside',
  'cut',
  'header',
)

const env = {
  GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1',
  GATEWAY_SMTP_URL: `smtp://gateway:${MAIL_PASSWORD}@127.0.0.1:1`,
  GATEWAY_SMTP_FROM: 'gateway@example.org',
  NODE_ENV: 'development',
}

let setup: ScriptedGateway
let hook: ReturnType<typeof openReceiver>
const providers = new Map<Name, Socket>()
/** Everything that clients of this file received, headers included. */
const heard: string[] = []
/** By name; a secret that is shown once is not shown again. */
const secrets = new Map<string, string>()
let key = ''
let admin = ''

beforeAll(async () => {
  setup = await openScriptedGateway({ env })
  const { gateway } = setup
  for (const name of NAMES) {
    const [type, credential] = CREDENTIALS[name]
    secrets.set(`credential of ${name}`, credential)
    const wishes = { type, credential, path: `/${HIDDEN_PATH}/v1` }
    providers.set(
      name,
      await setup.provide(name, (response, asked) => fail(credential, response, asked), wishes),
    )
    for (const model of [...FAILURES, 'fine']) await setup.addModel(`${name}/${model}`)
  }
  const issue = async (name: string, more: object = {}) => {
    const issued = await gateway.verb('keys.create', { name, ...more })
    secrets.set(`key ${name}`, issued.key)
    return issued
  }
  key = (await issue('ordinary', { rpm_limit: 100_000 })).key
  admin = (await issue('boss', { kind: 'provisioning' })).key
  const revoked = await issue('revoked')
  await gateway.verb('keys.revoke', { key: revoked.id })
  await issue('spent', { daily_spend_limit_usd: '0' })
  await issue('penned', { allowed_models: ['none/*'] })
  secrets.set('password of the mail server', MAIL_PASSWORD)
  hook = openReceiver(() => new Response(`no ${MAIL_PASSWORD}`, { status: 500 }))
  const { webhook_secret } = await gateway.verb('thresholds.set', {
    threshold_usd: '999999',
    email: 'ops@example.org',
    webhook_url: `${hook.url}/hook`,
  })
  secrets.set('secret of the webhook', webhook_secret ?? '')
  secrets.set('master key', readFileSync(join(setup.cli.dataDir, 'master.key'), 'utf8').trim())
})

afterAll(async () => {
  await setup?.close()
  await hook?.close()
})

/** Everything that a careless provider may repeat. */
const gossip = (credential: string): string =>
  `bad key ${credential} (Bearer ${credential}; key=${credential}) for http://10.1.2.3/${HIDDEN_PATH}?key=${credential}`

/** Every model is named for its failure; its name is in the body, or with Gemini in the path. */
function fail(credential: string, response: ServerResponse, { body, path }: Asked): void {
  const model = String(body['model'] ?? /models\/(\w+):/.exec(path)?.[1])
  const leaked = gossip(credential)
  for (const [name, value] of Object.entries({
    'set-cookie': `upstream=${credential}`,
    authorization: `Bearer ${credential}`,
    'openai-organization': 'org-canary0123456789',
    'x-ratelimit-limit-requests': '12345',
    server: 'upstream-canary',
    'x-internal-route': HIDDEN_PATH,
  })) {
    response.setHeader(name, value)
  }
  const answer = (status: number, type: string, text: string): void => {
    response.writeHead(status, { 'content-type': type })
    response.end(text)
  }
  const failing: Readonly<Record<string, () => void>> = {
    garbage: () => answer(200, 'application/json', `{"x": ${leaked}`),
    inside: () =>
      answer(200, 'application/json', JSON.stringify({ error: { message: leaked, code: 500 } })),
    moved: () => {
      response.setHeader('location', `http://127.0.0.1:1/?key=${credential}`)
      answer(302, 'text/html', `<a href="${leaked}">`)
    },
    header: () => void response.socket?.end(`HTTP/1.1 200 OK\r\n${leaked}\r\n\r\n`),
    cut: () => {
      const word = JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' } }] })
      const error = JSON.stringify({ error: { message: leaked } })
      answer(200, 'text/event-stream', `data: ${word}\n\nevent: error\ndata: ${error}\n\n`)
    },
    fine: () => say(response, body['stream'], USAGE),
  }
  const status = Number(/^s(\d{3})$/.exec(model)?.[1] ?? 0)
  const error = { message: leaked, type: leaked, code: status, param: credential, status: leaked }
  if (status > 0) answer(status, 'application/json', JSON.stringify({ error }))
  else failing[model]?.()
}

const USAGE = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }

/** Records the response, and returns its status and header names. */
async function ask(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<{ status: number; names: readonly string[] }> {
  const response = await fetch(setup.gateway.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  heard.push(`${JSON.stringify([...response.headers])}\n${await response.text()}`)
  return { status: response.status, names: [...response.headers.keys()] }
}

const chat = (model: string, more: object = {}, headers = {}) =>
  ask('POST', '/v1/chat/completions', headers, hello({ model, ...more }))

const bearer = (name: string) => ({ authorization: `Bearer ${secrets.get(`key ${name}`)}` })

/** The headers that the gateway sends (contract §3, §4, §7), and none of an upstream's. */
const OURS = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'retry-after',
  'server',
  'transfer-encoding',
  'www-authenticate',
  'x-accel-buffering',
  'x-content-type-options',
  'x-gateway-model',
  'x-gateway-provider',
  'x-generation-id',
  'x-ratelimit-limit-minute',
  'x-ratelimit-remaining-minute',
  'x-ratelimit-reset-minute',
  'x-request-id',
  'x-should-retry',
]

describe('when everything fails, no secret and no provider header reaches a client', () => {
  test.each(NAMES)('T24, T26, T27: at %s, in every way', async (name) => {
    const before = heard.length
    const manners = [{}, { stream: true }, { allow_fallbacks: false }]
    const responses = await Promise.all(
      FAILURES.flatMap((failure) => manners.map((more) => chat(`${name}/${failure}`, more))),
    )
    for (const { status, names } of responses) {
      expect(status).not.toBe(500)
      expect(names.filter((header) => !OURS.includes(header))).toEqual([])
    }
    // The response names the provider that was called, as the contract says, and no other.
    const named = NAMES.filter((one) => heard.slice(before).join().includes(one))
    expect(named).toEqual([name])
    // Proof that the credential was used: the gateway did send what is searched for.
    const sent = JSON.stringify(providers.get(name)?.seen.map(({ headers }) => headers))
    expect(sent).toContain(CREDENTIALS[name][1])
  })

  test.each(['shaped', 'plain'])('T27: from %s in a good answer', async (name) => {
    for (const stream of [false, true]) {
      const { status, names } = await chat(`${name}/fine`, { stream })
      expect(status).toBe(200)
      expect(names.filter((header) => !OURS.includes(header))).toEqual([])
      expect(heard.at(-1)).not.toMatch(/upstream-canary|12345|org-canary/)
    }
  })

  test('T25: also for the client’s own key, in every state and place', async () => {
    for (const name of ['revoked', 'spent', 'penned', 'boss']) {
      await chat('demo/echo', {}, bearer(name))
      await ask('GET', '/v1/models', bearer(name))
      await ask('GET', '/v1/key', bearer(name))
    }
    for (const secret of [key, admin]) {
      await ask('GET', `/v1/models?key=${secret}&api_key=${secret}`, { authorization: '' })
      await ask('GET', '/v1/key', { authorization: '', cookie: `key=${secret}` })
      await ask('GET', '/v1/key', { authorization: `Bearer ${secret.slice(0, -1)}` })
      await ask('GET', '/v1/key', { authorization: `Bearer ${secret}, Bearer ${secret}` })
      await ask('POST', '/v1/chat/completions', {}, `{"key":"${secret}"`)
      await ask('POST', '/v1/keys', bearer('boss'), { name: 'x', daily_spend_limit_usd: secret })
      await ask('PATCH', '/v1/keys/key_x', bearer('boss'), { key: secret })
      await ask('GET', `/v1/keys/${secret}`, bearer('boss'))
      await ask('GET', `/v1/generation?id=${secret}`)
      await ask('GET', `/v1/models/${secret}`)
      await ask('GET', `/v1/models/${secret}`, bearer('penned'))
      await chat(secret)
      await chat(`${secret}/x`, {}, bearer('penned'))
      await chat('demo/echo', { models: [secret] })
      await chat('demo/echo', { provider: { only: [secret] } })
      await chat('demo/echo', { user: secret })
      await chat('demo/echo', { user: `Bearer ${secret}` })
      await chat('demo/echo', {}, { 'x-request-id': secret })
      await chat('demo/echo', {}, { 'x-request-id': `trace:${secret}` })
      await chat('demo/echo', {}, { 'idempotency-key': secret })
      await chat(`demo/${secret}`)
      await ask('POST', '/v1/keys', bearer('boss'), { name: 'x', allowed_models: [secret] })
      await ask('POST', '/v1/keys', bearer('boss'), { name: 'x', expires_at: secret })
      await ask('GET', `/v1/nothing/${secret}`)
    }
    expect(heard.length).toBeGreaterThan(100)
  })
})

/** Unchanged, and in each common encoding. */
const disguises = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('base64url'),
  Buffer.from(secret).toString('hex'),
]

const PART_CHARS = 16

/** Every part of a secret that is too long to occur by chance. */
const parts = (secret: string): readonly string[] =>
  Array.from({ length: Math.max(1, secret.length - PART_CHARS + 1) }, (_, at) =>
    secret.slice(at, at + PART_CHARS),
  )

/** The names of the secrets that `text` contains, whole or in part. */
const found = (text: string): readonly string[] =>
  [...secrets]
    .filter(([, secret]) =>
      [...disguises(secret), ...parts(secret)].some((one) => text.includes(one)),
    )
    .map(([name]) => name)

const LISTS = [
  ['keys', 'list', '--include-revoked'],
  ['keys', 'show', 'ordinary'],
  ['limits', 'show'],
  ['providers', 'list'],
  ...NAMES.map((name) => ['providers', 'show', name]),
  ['models', 'list'],
  ['accounts', 'list'],
  ['accounts', 'show', 'default'],
  ['balance', 'show'],
  ['ledger', 'list'],
  ['activity', 'list', '--limit', '1000'],
  ['activity', 'list', '--errors'],
  ['thresholds', 'show'],
  ['deliveries', 'list'],
  ['rates', 'show'],
  ['usage', 'drift'],
  ['status'],
]

describe('a search of all output', () => {
  test('finds a secret that is there', () => {
    for (const [name, secret] of secrets) {
      expect(secret.length).toBeGreaterThan(PART_CHARS)
      expect(found(`...${secret.slice(3, 3 + PART_CHARS)}...`)).toEqual([name])
      expect(found(btoa(secret))).toEqual([name])
    }
    expect(secrets.size).toBe(12)
  })

  test('T8, T24, T25, T26: finds no secret, and no address or account of a provider, in responses', () => {
    const all = heard.join('\n')
    expect(found(all)).toEqual([])
    expect(all).not.toContain(HIDDEN_PATH)
    expect(all).not.toMatch(/10\.1\.2\.3|org-canary/)
    for (const [, { url }] of providers) expect(all).not.toContain(new URL(url).host)
  })

  test('T8, T25: finds no secret in lists and receipts', async () => {
    await until(() => hook.received.length > 0, 'a webhook has failed')
    const deliveries = setup.cli.json<readonly { event_id: string }[]>(['deliveries', 'list'])
    const failures = setup.cli.json<readonly { id: string }[]>([
      'activity',
      'list',
      '--errors',
      '--limit',
      '1000',
    ])
    expect(failures.length).toBeGreaterThan(100)
    const receipts = await Promise.all(
      failures.map(({ id }) => setup.gateway.verb('activity.show', { id })),
    )
    const shown = LISTS.concat(
      deliveries.map(({ event_id: id }) => ['deliveries', 'show', id]),
    ).map((command) => {
      const { code, out, err } = setup.cli.run([...command, '--json'])
      expect([command, code]).toEqual([command, 0])
      return out + err
    })
    expect(found(shown.join('\n') + JSON.stringify(receipts))).toEqual([])
    // An operator sees the provider's error, without its secrets.
    expect(JSON.stringify(receipts)).toContain('[removed]')
  })

  test('T25, T36: finds no secret and no body in the log', async () => {
    const said = setup.gateway.said()
    expect(said.split('\n').length).toBeGreaterThan(100)
    expect(found(said)).toEqual([])
    expect(said).not.toMatch(/"messages"|10\.1\.2\.3|api_key=/)
  })

  test('T8, T25: finds no secret in files, except the master key in its own', async () => {
    await setup.gateway.stop()
    const files = readdirSync(setup.cli.home, { recursive: true, encoding: 'utf8' })
      .map((name) => join(setup.cli.home, name))
      .filter((path) => statSync(path).isFile())
    expect(files.some((path) => path.endsWith('gateway.db'))).toBe(true)
    for (const path of files) {
      const held = found(readFileSync(path, 'latin1'))
      expect([path, held]).toEqual([path, path.endsWith('master.key') ? ['master key'] : []])
    }
  })
})
