/** Canaries are put wherever a secret lives, everything is made to fail, and whatever comes out of the gateway is searched for them. */
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

/** What each provider is spoken to with; nothing in the last tells that it is a credential. */
const CREDENTIALS = {
  shaped: ['openai-compatible', 'sk-canary-3f9c1e7a5b2d4860of0the0operator'],
  claude: ['anthropic', 'sk-ant-api03-9d1f7c2b8e4a6053-canary-AAAA'],
  gemini: ['google', 'AIzaSyCanary0d4f8b2c6e1a9375kLmNoPqRsTu'],
  plain: ['openai-compatible', 'Zq8d2f60b1c4e7a935kVw7TgH2'],
} as const
type Name = keyof typeof CREDENTIALS
const NAMES = Object.keys(CREDENTIALS) as readonly Name[]

const MAIL_PASSWORD = 'mailCanary7c1e9b3f5a'
/** Stands in the address of every provider. */
const HIDDEN_PATH = 'hidden-path-51c8e2'

/** How a provider fails, and repeats whatever it knows while it does. */
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
/** What every client of this file was sent, heads included. */
const heard: string[] = []
/** By what they are; what is shown once is not shown again. */
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

/** All that a careless provider may repeat. */
const gossip = (credential: string): string =>
  `bad key ${credential} (Bearer ${credential}; key=${credential}) for http://10.1.2.3/${HIDDEN_PATH}?key=${credential}`

/** Every model is called as it fails; its name stands in the body, or with Gemini in the path. */
function fail(credential: string, response: ServerResponse, { body, path }: Asked): void {
  const model = String(body['model'] ?? /models\/(\w+):/.exec(path)?.[1])
  const told = gossip(credential)
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
    garbage: () => answer(200, 'application/json', `{"x": ${told}`),
    inside: () =>
      answer(200, 'application/json', JSON.stringify({ error: { message: told, code: 500 } })),
    moved: () => {
      response.setHeader('location', `http://127.0.0.1:1/?key=${credential}`)
      answer(302, 'text/html', `<a href="${told}">`)
    },
    header: () => void response.socket?.end(`HTTP/1.1 200 OK\r\n${told}\r\n\r\n`),
    cut: () => {
      const word = JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' } }] })
      const error = JSON.stringify({ error: { message: told } })
      answer(200, 'text/event-stream', `data: ${word}\n\nevent: error\ndata: ${error}\n\n`)
    },
    fine: () => say(response, body['stream'], USAGE),
  }
  const status = Number(/^s(\d{3})$/.exec(model)?.[1] ?? 0)
  const error = { message: told, type: told, code: status, param: credential, status: told }
  if (status > 0) answer(status, 'application/json', JSON.stringify({ error }))
  else failing[model]?.()
}

const USAGE = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }

/** Keeps what came, and answers its status and the names of its headers. */
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

/** What our own answers may carry (contract §3, §4, §7), and nothing of an upstream's. */
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
  'x-generation-id',
  'x-ratelimit-limit-minute',
  'x-ratelimit-remaining-minute',
  'x-ratelimit-reset-minute',
  'x-request-id',
  'x-should-retry',
]

describe('everything fails', () => {
  test.each(NAMES)('T24, T26, T27: at %s, in every way', async (name) => {
    const before = heard.length
    const manners = [{}, { stream: true }, { allow_fallbacks: false }]
    const told = await Promise.all(
      FAILURES.flatMap((failure) => manners.map((more) => chat(`${name}/${failure}`, more))),
    )
    for (const { status, names } of told) {
      expect(status).not.toBe(500)
      expect(names.filter((header) => !OURS.includes(header))).toEqual([])
    }
    // Of the gateway's providers it names the one that was asked, as the contract says, and no other.
    const named = NAMES.filter((one) => heard.slice(before).join().includes(one))
    expect(named).toEqual([name])
    // The provider was spoken to with its credential: what is searched for did go through the gateway.
    const sent = JSON.stringify(providers.get(name)?.seen.map(({ headers }) => headers))
    expect(sent).toContain(CREDENTIALS[name][1])
  })

  test.each(['shaped', 'plain'])(
    'T27: nor does %s get a header through when it answers',
    async (name) => {
      for (const stream of [false, true]) {
        const { status, names } = await chat(`${name}/fine`, { stream })
        expect(status).toBe(200)
        expect(names.filter((header) => !OURS.includes(header))).toEqual([])
        expect(heard.at(-1)).not.toMatch(/upstream-canary|12345|org-canary/)
      }
    },
  )

  test('T25: for the key that asks, in every state and place', async () => {
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

/** As they are, and as they would look in other clothes. */
const disguises = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('base64url'),
  Buffer.from(secret).toString('hex'),
]

const PART_CHARS = 16

/** Every part of a secret that is long enough to be no accident. */
const parts = (secret: string): readonly string[] =>
  Array.from({ length: Math.max(1, secret.length - PART_CHARS + 1) }, (_, at) =>
    secret.slice(at, at + PART_CHARS),
  )

/** The names of the secrets that `text` holds, whole or in part. */
const found = (text: string): readonly string[] =>
  [...secrets]
    .filter(([, secret]) =>
      [...disguises(secret), ...parts(secret)].some((one) => text.includes(one)),
    )
    .map(([name]) => name)

const LISTS = [
  ['keys', 'list', '--all'],
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

describe('and what came out', () => {
  test('finds what is there to be found', () => {
    for (const [name, secret] of secrets) {
      expect(secret.length).toBeGreaterThan(PART_CHARS)
      expect(found(`...${secret.slice(3, 3 + PART_CHARS)}...`)).toEqual([name])
      expect(found(btoa(secret))).toEqual([name])
    }
    expect(secrets.size).toBe(12)
  })

  test('T8, T24, T25, T26: of answers, holds no secret, no address and no account of a provider', () => {
    const all = heard.join('\n')
    expect(found(all)).toEqual([])
    expect(all).not.toContain(HIDDEN_PATH)
    expect(all).not.toMatch(/10\.1\.2\.3|org-canary/)
    for (const [, { url }] of providers) expect(all).not.toContain(new URL(url).host)
  })

  test('T8, T25: of lists and receipts, holds no secret', async () => {
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
    // An operator is told what a provider said, without its secrets.
    expect(JSON.stringify(receipts)).toContain('[removed]')
  })

  test('T25, T36: of the log, holds no secret and no body', async () => {
    const said = setup.gateway.said()
    expect(said.split('\n').length).toBeGreaterThan(100)
    expect(found(said)).toEqual([])
    expect(said).not.toMatch(/"messages"|10\.1\.2\.3|api_key=/)
  })

  test('T8, T25: of files, holds no secret but the master key in its own', async () => {
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
