/** Access: which secrets are accepted, where a request may lead, and how large it may be. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDatabase, until } from '#test/support/appliance.ts'
import { dial, type RawClient } from '#test/support/raw-client.ts'
import type { Socket } from '#test/upstream/fixtures.ts'
import { hello, openScriptedGateway, type ScriptedGateway, say } from './scripted-gateway.ts'

let setup: ScriptedGateway
let provider: Socket
/** A server that no request should reach. */
let decoy: Socket
let key = ''

beforeAll(async () => {
  setup = await openScriptedGateway()
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  provider = await setup.provide('acme', (response, { body }) =>
    say(response, body['stream'], usage),
  )
  decoy = await setup.provide('decoy', (response) => say(response, false, usage))
  await setup.addModel('acme/m')
  key = (await setup.gateway.verb('keys.create', { name: 'visitor' })).key
})
afterAll(() => setup?.close())

const MAX_BYTES = 32 * 1024 * 1024

/** The head of a chat request; the test sends its body. */
const head = (...fields: readonly string[]): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: a',
    'Content-Type: application/json',
    'Connection: close',
    ...fields,
    '\r\n',
  ].join('\r\n')

async function answerTo(client: RawClient): Promise<string> {
  await until(() => client.closed, 'an answer comes, and its connection is closed')
  const status = /^HTTP\/1\.1 (\d{3})/.exec(client.received.replace(CONTINUE, ''))?.[1]
  const code = /"code":"(\w+)"/.exec(client.received)?.[1]
  return code === undefined ? `${status}` : `${status} ${code}`
}
const CONTINUE = /^HTTP\/1\.1 100 Continue\r\n\r\n/

const rows = (table: string) => readDatabase(setup.cli, `SELECT * FROM ${table} ORDER BY 1`)

describe('a secret', () => {
  test('T1, T2: that was never issued opens nothing, and no part of it reaches SQL', async () => {
    const other = (await setup.gateway.verb('keys.create', { name: 'other' })).key
    const before = ['keys', 'key_secrets', 'accounts', 'ledger'].map(rows)
    for (const token of [
      `${key}'`,
      `${key.slice(0, -1)}'`,
      `${key.slice(0, 20)}`,
      `${key}A`,
      key.slice(0, -1),
      key.slice(0, 26) + other.slice(26),
      `if-' OR 1=1; DROP TABLE keys; --`,
      `if-${'%'.repeat(49)}`,
      `if-${'_'.repeat(49)}`,
      `if-${'*'.repeat(49)}`,
      'null',
      'undefined',
      '[object Object]',
      '{"$ne":null}',
      `if-${'A'.repeat(14_000)}`,
    ]) {
      const client = dial(setup.gateway.url)
      client.send(`${head(`Authorization: Bearer ${token}`, 'Content-Length: 2')}{}`)
      expect([token, await answerTo(client)]).toEqual([token, '401 invalid_api_key'])
    }
    for (const [token, status] of [
      ['if-\0', '400'],
      [`if-${'A'.repeat(1_000_000)}`, '431'],
    ]) {
      const client = dial(setup.gateway.url)
      client.send(`${head(`Authorization: Bearer ${token}`, 'Content-Length: 2')}{}`)
      expect(await answerTo(client)).toBe(status)
    }
    expect(['keys', 'key_secrets', 'accounts', 'ledger'].map(rows)).toEqual(before)
  })

  test('T5: in another header is ignored, and does not apply its limits', async () => {
    const { key: tight } = await setup.gateway.verb('keys.create', { name: 'tight', rpm_limit: 1 })
    const ask = (headers: Record<string, string>) =>
      setup.gateway.chat('', hello(), {
        headers: { 'content-type': 'application/json', ...headers },
      })
    const loose = {
      'x-api-key': key,
      'api-key': key,
      'x-goog-api-key': key,
      'x-litellm-api-key': key,
      'x-forwarded-authorization': `Bearer ${key}`,
      'proxy-authorization': `Bearer ${key}`,
      cookie: `token=${key}`,
    }
    expect((await ask(loose)).status).toBe(401)
    const both = { ...loose, authorization: `Bearer ${tight}` }
    expect([(await ask(both)).status, (await ask(both)).status]).toEqual([200, 429])
  })

  test('T9: of the gateway that is empty or too short keeps it from starting', async () => {
    const file = join(setup.cli.home, 'weak.key')
    for (const weak of ['', ' \n', 'AAAA', 'a'.repeat(31), 'ab'.repeat(31), '0'.repeat(63)]) {
      writeFileSync(file, weak)
      for (const env of [
        { GATEWAY_MASTER_KEY_FILE: file },
        ...(weak.trim() ? [{ GATEWAY_MASTER_KEY: weak }] : []),
      ]) {
        const directory = join(setup.cli.home, 'elsewhere')
        const command = ['serve', '--listen', '127.0.0.1:0', '--data-dir', directory]
        const { code, out, err } = setup.cli.run(command, { env })
        expect([weak, code, out]).toEqual([weak, 1, ''])
        expect(err).toMatch(/does not hold a master key: 32 bytes/)
      }
    }
    // An empty variable means no key: the gateway uses its own random one.
    const own = readFileSync(join(setup.cli.dataDir, 'master.key'), 'utf8').trim()
    expect(Buffer.from(own, 'base64url')).toHaveLength(32)
    expect(new Set(Buffer.from(own, 'base64url')).size).toBeGreaterThan(16)
  })
})

test('T28: no field of a request changes where it is sent, or with which headers', async () => {
  const elsewhere = decoy.url
  const bodies = [
    ...['api_base', 'base_url', 'api_url', 'url', 'endpoint', 'host', 'custom_host', 'proxy'].map(
      (field) => ({ [field]: elsewhere }),
    ),
    { provider: { base_url: elsewhere, url: elsewhere, order: ['acme'], only: ['acme'] } },
    { litellm_params: { api_base: elsewhere, api_key: 'x' } },
    { extra_headers: { host: 'evil.example', authorization: 'Bearer x' } },
    { extra_body: { api_base: elsewhere }, metadata: { api_base: elsewhere } },
    { custom_llm_provider: 'openai', model_info: { base_model: elsewhere } },
  ]
  const headers = [
    'x-portkey-custom-host',
    'x-portkey-provider',
    'x-portkey-config',
    'x-litellm-api-base',
    'x-base-url',
    'x-upstream',
    'x-original-url',
    'x-rewrite-url',
    'x-forwarded-host',
    'x-forwarded-server',
    'forwarded',
    'helicone-target-url',
    'cf-connecting-ip',
    'cookie',
    'openai-organization',
    'anthropic-version',
  ]
  const odd = Object.fromEntries(headers.map((name) => [name, elsewhere]))
  provider.seen.length = 0
  for (const body of bodies) {
    for (const stream of [false, true]) {
      const response = await setup.gateway.chat(key, hello({ model: 'acme/m', stream, ...body }), {
        headers: { ...odd, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      })
      expect([body, response.status]).toEqual([body, 200])
      await response.text()
    }
  }
  for (const model of [elsewhere, `acme/${elsewhere}`, 'acme/../../x', 'acme/m?x=', 'acme/m#']) {
    const { status } = await setup.gateway.chat(key, hello({ model }))
    expect([model, status]).toEqual([model, 404])
  }
  expect(decoy.seen).toEqual([])
  expect(provider.seen).toHaveLength(2 * bodies.length)
  const { host } = new URL(provider.url)
  for (const { path, headers: sent } of provider.seen) {
    expect([path, sent['host']]).toEqual(['/v1/chat/completions', host])
    expect(headers.filter((name) => name in sent)).toEqual([])
    expect(JSON.stringify(sent)).not.toContain(key)
  }
})

test('T32: an image URL never reaches an internal address, whether from a client or from a provider', async () => {
  let knocked = 0
  const inside = createServer((socket) => {
    knocked++
    socket.destroy()
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  const { port } = inside.address() as AddressInfo
  const addresses = ['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]', '0'].map(
    (host) => `https://${host}:${port}/a.png`,
  )
  const knowing = (type: string) =>
    setup.provide(`sees-${type}`, (response, { body }) => say(response, body['stream']), {
      type,
      credential: 'x',
    })
  for (const type of ['openai-compatible', 'anthropic', 'google']) {
    await knowing(type)
    await setup.addModel(`sees-${type}/m`)
  }
  await setup.provide('draws', (response, { body }) => {
    const url = String(body['user'])
    const images = [{ type: 'image_url', image_url: { url } }]
    const message = { role: 'assistant', content: '', images }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  })
  await setup.addModel('draws/m', { images: true })
  try {
    for (const url of addresses) {
      const content = [{ type: 'image_url', image_url: { url } }]
      for (const type of ['openai-compatible', 'anthropic', 'google']) {
        const body = hello({ model: `sees-${type}/m`, messages: [{ role: 'user', content }] })
        await (await setup.gateway.chat(key, body)).text()
      }
      const drawn = hello({ model: 'draws/m', modalities: ['image'], user: url })
      const response = await setup.gateway.chat(key, drawn)
      expect([url, response.status]).toEqual([url, 502])
      expect(await response.json()).toMatchObject({ error: { code: 'no_image_returned' } })
    }
    expect(knocked).toBe(0)
    // Proof that the server was reachable all the time.
    await fetch(`http://127.0.0.1:${port}/`).catch(() => {})
    expect(knocked).toBe(1)
  } finally {
    inside.close()
  }
})

describe('T37: a chunked body', () => {
  const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`
  const chunked = (...more: readonly string[]) =>
    head(`Authorization: Bearer ${key}`, 'Transfer-Encoding: chunked', ...more)

  test.each([
    ['in one chunk too large', [MAX_BYTES + 1]],
    ['in many, of which the last is too much', [...Array<number>(32).fill(1024 * 1024), 1]],
  ])('%s is counted, and refused', async (_, sizes) => {
    const client = dial(setup.gateway.url)
    client.send(chunked())
    for (const size of sizes) client.send(chunk(size))
    client.send('0\r\n\r\n')
    expect(await answerTo(client)).toBe('413 request_too_large')
  })

  test('that announces a large chunk and does not send it holds up no other request', async () => {
    const client = dial(setup.gateway.url)
    client.send(`${chunked('X-Request-Id: boaster')}ffffffff\r\n{"model"`)
    const answered = await setup.gateway.chat(key, hello())
    expect([answered.status, client.received, client.closed]).toEqual([200, '', false])
    client.hangUp()
    const line = () =>
      setup.gateway
        .said()
        .split('\n')
        .find((text) => text.includes('boaster'))
    await until(() => line() !== undefined, 'it is given up')
    expect(JSON.parse(line() ?? '')).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test('of exactly the maximum size is read to its end', async () => {
    const text = JSON.stringify(hello())
    const client = dial(setup.gateway.url)
    client.send(chunked())
    client.send(chunk(MAX_BYTES - text.length))
    client.send(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    // Of the right size, and read whole: only then is it known to be beyond the model's context (contract §8).
    expect(await answerTo(client)).toBe('400 context_length_exceeded')
  })

  test.each([
    ['a length beside the chunks', 'Content-Length: 5', '400'],
    ['a second encoding', 'Transfer-Encoding: identity', '400'],
  ])('with %s is refused', async (_, field, status) => {
    const client = dial(setup.gateway.url)
    client.send(`${chunked(field)}0\r\n\r\n`)
    expect((await answerTo(client)).slice(0, 3)).toBe(status)
  })

  test('that is compressed is refused, so that it cannot expand', async () => {
    const client = dial(setup.gateway.url)
    client.send(`${chunked('Content-Encoding: gzip')}${chunk(9)}0\r\n\r\n`)
    expect(await answerTo(client)).toBe('415 unsupported_media_type')
  })
})

test('T3, T41: a path is matched exactly, except for doubled slashes and one at its end', async () => {
  const fields = [`Authorization: Bearer ${key}`, 'Content-Length: 0', 'Connection: close', '\r\n']
  const statusOf = async (line: string, host = 'Host: a') => {
    const client = dial(setup.gateway.url)
    client.send([`${line} HTTP/1.1`, host, ...fields].join('\r\n'))
    return await answerTo(client)
  }
  for (const line of [
    'GET /v1%2fkey',
    'GET /v1/%2e%2e/v1%2fkeys',
    'GET /V1/key',
    'GET /v1/KEY',
    'GET /v1/key%00',
    'GET /v1/key;x=1',
    'GET /api/v1/v1/key',
    'GET /api/api/v1/key',
    'GET /api/key',
    'GET /verbs/status',
    'POST /v1/verbs/keys.create',
    'GET /admin',
    'GET /metrics',
    'GET /.env',
  ]) {
    expect([line, await statusOf(line)]).toEqual([line, '404 route_not_found'])
  }
  for (const line of ['GET //v1/key', 'GET /v1//key', 'GET /v1/key/']) {
    expect([line, await statusOf(line)]).toEqual([line, '200'])
  }
  for (const line of ['GET //v1/keys', 'GET /v1//keys/', 'GET /v1/keys//key_1']) {
    expect([line, await statusOf(line)]).toEqual([line, '403 provisioning_key_required'])
  }
  for (const host of ['Host: [::1]', 'Host: [::ffff:127.0.0.1]:80', 'Host: admin.internal']) {
    expect([host, await statusOf('GET /v1/key', host)]).toEqual([host, '200'])
    expect([host, await statusOf('GET /v1/keys', host)]).toEqual([
      host,
      '403 provisioning_key_required',
    ])
  }
  for (const host of ['Host: [::1', 'Host: a@b', 'Host: a/v1/keys', 'Host: a\\b', 'Host: a,b']) {
    expect([host, (await statusOf('GET /v1/key', host)).slice(0, 3)]).toEqual([host, '400'])
  }
})
