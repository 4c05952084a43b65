/** What a stranger, a thief or a hostile directory gets out of it: nothing. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anyText } from '#test/support/any-text.ts'
import {
  type Appliance,
  furnishCli,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { oks, startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'
import { FULL } from '#test/support/tier.ts'

const CANARY = 'sk-canary-3f9c1e7a5b2d4860-of-the-operator'
/** The credential of a provider whose errors repeat it: nothing in it tells that it is one. */
const REPEATED = 'Zq8d2f60b1c4e7a935kVw'
const REQUESTS = FULL ? 1_000 : 300
const SEED = Number(process.env['SEED'] ?? 20_260_823)
const MAX_GROWTH_MB = 150

const good = { kind: 'chat', promptTokens: 100, completionTokens: 5, chunks: oks(2) } as const
const upstream = await startSyntheticUpstream({
  good,
  garbage: { kind: 'plain', status: 200, body: '<html>not json' },
  empty: { kind: 'plain', status: 200, body: '' },
  reset: { kind: 'reset' },
  // To an address that would answer, if anybody went there.
  redirect: { kind: 'plain', status: 302, body: '', redirectTo: 'good' },
  talkative: {
    kind: 'plain',
    status: 400,
    body: JSON.stringify({
      error: { message: `bad key ${REPEATED} for http://10.1.2.3:99/secret` },
    }),
  },
  page: {
    kind: 'plain',
    status: 500,
    body: '<html><pre>Error at /srv/app.js:1</pre></html>',
  },
  broken: { ...good, breaksOff: { afterChunks: 1, ending: 'close' } },
})
const cli = openCli()
const sprung = join(cli.home, 'sprung')
let gateway: Appliance
let key = ''

/** Every byte that any client of this file was sent, heads included. */
const sent: string[] = []
/** Everything that any server of this file printed. */
let said = ''

/** The directory that every command and server of this file stands in. */
function setTraps(): void {
  writeFileSync(join(cli.home, 'bunfig.toml'), 'preload = ["./trap.ts"]\nlogLevel = "debug"\n')
  writeFileSync(
    join(cli.home, 'trap.ts'),
    `require('node:fs').writeFileSync(${JSON.stringify(sprung)}, process.argv.join(' '))\n`,
  )
  writeFileSync(
    join(cli.home, '.env'),
    [
      `GATEWAY_ADMIN_SOCKET=${join(cli.home, 'elsewhere.sock')}`,
      'GATEWAY_CONFIG=./absent.toml',
      'GATEWAY_MASTER_KEY=0000000000000000000000000000000000000000000000000000000000000000',
      'HTTP_PROXY=http://127.0.0.1:1',
      'http_proxy=http://127.0.0.1:1',
      'SPRUNG=1',
    ].join('\n'),
  )
  writeFileSync(join(cli.home, 'package.json'), '{"name":"trap","type":"commonjs"}\n')
}

beforeAll(async () => {
  setTraps()
  furnishCli(cli)
  gateway = await startAppliance(cli, { env: { NODE_ENV: 'development' } })
  for (const [name, baseUrl] of Object.entries(upstream.baseUrls)) {
    const added = cli.run(
      [
        ...['providers', 'add', name, '--type', 'openai-compatible'],
        ...['--base-url', baseUrl, '--no-check'],
      ],
      { stdin: `${name === 'talkative' ? REPEATED : CANARY}\n` },
    )
    if (added.code !== 0) throw new Error(added.err)
    await gateway.verb('models.add', { model: `${name}/m`, in_usd: '1', out_usd: '2' })
  }
  key = (await gateway.verb('keys.create', { name: 'stranger' })).key
})

afterAll(async () => {
  await gateway?.kill()
  await upstream.stop()
  cli.close()
})

/** One chat over a socket, kept for the search at the end; an answer is over when its connection is. */
async function chat(model: string, stream: boolean, secret = key): Promise<string> {
  const client = dial(gateway.url)
  const headers = { Authorization: `Bearer ${secret}`, Connection: 'close' }
  const body = { model, stream, messages: [{ role: 'user', content: 'hi' }] }
  client.send(post('/v1/chat/completions', headers, body))
  await until(() => client.closed, 'the answer is over')
  sent.push(client.received)
  return client.received
}

const STACKS =
  /node_modules|bunfs|\.[jt]s:\d+|\bat [\w.<>]+ \(|\/srv\/|\/home\/|\/root\/|<html|<pre/i

function expectNoLeak(answer: string): void {
  expect(answer).not.toMatch(STACKS)
  expect(answer).not.toContain(CANARY)
  expect(answer).not.toContain(REPEATED)
  expect(answer).not.toContain(new URL(upstream.url).host)
  expect(answer).not.toMatch(/10\.1\.2\.3/)
  expect(answer).not.toContain(cli.home)
}

describe('a hostile working directory', () => {
  test('has no effect on commands or on the server, which starts itself anew', async () => {
    // Plain Bun must run the preload first, or the check would prove nothing.
    const bait = Bun.spawnSync([process.execPath, '-e', 'console.log(process.env.SPRUNG)'], {
      cwd: cli.home,
      env: { PATH: process.env['PATH'] ?? '' },
    })
    expect(bait.stdout.toString()).toBe('1\n')
    expect(existsSync(sprung)).toBe(true)
    rmSync(sprung)

    expect(cli.run(['keys', 'list']).code).toBe(0)
    expect(cli.run(['status', '-q'])).toEqual({ code: 0, out: '', err: '' })
    const other = openCli()
    try {
      const second = await startAppliance(other, { cwd: cli.home })
      expect(await second.verb('status', {})).toMatchObject({ data_dir: other.dataDir })
      expect(await second.stop()).toBe(0)
    } finally {
      other.close()
    }
    expect(existsSync(join(cli.home, 'elsewhere.sock'))).toBe(false)
    expect(existsSync(sprung)).toBe(false)
  })
})

describe('a fault says nothing of what is inside', () => {
  test.each([
    ['garbage', 502, 'upstream_error'],
    ['empty', 502, 'upstream_error'],
    ['reset', 502, 'upstream_error'],
    ['redirect', 502, 'upstream_error'],
    ['talkative', 400, 'invalid_request'],
    ['page', 502, 'upstream_error'],
  ])('upstream: %s', async (name, status, code) => {
    for (const stream of [false, true]) {
      const answer = await chat(`${name}/m`, stream)
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
        error: { code, metadata: { provider: name } },
      })
      expectNoLeak(answer)
    }
  })

  test('upstream: broken off in the middle of a stream', async () => {
    const answer = await chat('broken/m', true)
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
    expect(answer).toContain('"code":"upstream_error"')
    expect(answer).toContain('data: [DONE]')
    expectNoLeak(answer)
  })

  test('a credential that cannot be read is the operator’s to hear of, and nobody else’s', async () => {
    const { url } = gateway
    said += gateway.said()
    expect(await gateway.stop()).toBe(0)
    // With another master key no credential can be opened: trouble of the gateway in the middle of a request.
    gateway = await startAppliance(cli, {
      env: { NODE_ENV: 'development', GATEWAY_MASTER_KEY: 'ab'.repeat(32) },
    })
    expect(gateway.url).not.toBe(url)
    expect(gateway.said()).toContain(
      'the credential of provider good cannot be read with this master key',
    )
    for (const stream of [false, true]) {
      const answer = await chat('good/m', stream)
      expect(answer).toMatch(/^HTTP\/1.1 502 /)
      const { error, request_id: id } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
      expect(error).toEqual({
        message:
          "the gateway's own account with good does not work; the operator has to look at it",
        type: 'api_error',
        param: null,
        code: 'upstream_error',
        metadata: { provider: 'good' },
      })
      expectNoLeak(answer)
      await until(() => gateway.said().includes(id), 'the operator is told')
      expect(gateway.said()).toMatch(/"fault":"GatewayError: a stored credential cannot be read/)
    }
    expect(openHolds(cli)).toBe(0)
    expect(cli.run(['doctor', '-q']).code).toBe(6)
    said += gateway.said()
    await gateway.stop()
    gateway = await startAppliance(cli, { env: { NODE_ENV: 'development' } })
    expect(await chat('good/m', false)).toMatch(/^HTTP\/1.1 200 /)
    expect(cli.run(['doctor', '-q']).code).toBe(0)
  })
})

const GOOD = JSON.stringify({
  model: 'good/m',
  messages: [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  ],
  stream: true,
  max_tokens: 5,
  temperature: 0.5,
})

const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom(-1, 0, 1e308, 2 ** 53, '\u0000', 'x'.repeat(5_000), [], {}, null, true, '../..'),
)
const FIELDS = [
  'model',
  'messages',
  'modalities',
  'stream',
  'stream_options',
  'user',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'image_config',
  'models',
  'provider',
  'allow_fallbacks',
  'tools',
  'base_url',
  '__proto__',
  'constructor',
]

/** A good body with some of its fields replaced, or some of its bytes. */
const mutatedBody = fc.oneof(
  fc
    .dictionary(fc.constantFrom(...FIELDS), junk, { maxKeys: 3 })
    .map((more) => JSON.stringify({ ...JSON.parse(GOOD), ...more })),
  fc
    .tuple(fc.nat(GOOD.length), fc.nat(20), anyText({ maxLength: 8 }))
    .map(([at, cut, noise]) => GOOD.slice(0, at) + noise + GOOD.slice(at + cut)),
  fc.nat(4_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.constant(GOOD),
)

type Lines = readonly string[]

/** Lines put in, or put in the place of our own. */
const mutatedHead = (secret: string): fc.Arbitrary<Lines> =>
  fc.array(
    fc.oneof(
      fc.constantFrom(
        `Authorization: Bearer ${secret.slice(0, -1)}`,
        `Authorization: Bearer ${secret}x`,
        `Authorization: bearer  ${secret}`,
        `Authorization: Basic ${btoa(secret)}`,
        `Authorization: Bearer ' OR 1=1 --`,
        `Authorization: Bearer if-${'A'.repeat(9_000)}`,
        `Cookie: key=${secret}`,
        'Host: evil.example',
        'Host: a b',
        'Host:',
        'Content-Type: text/plain',
        'Content-Type: application/json; charset=utf-7',
        'Content-Encoding: gzip',
        'Content-Length: 5',
        'Content-Length: 99999',
        'Content-Length: -1',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: identity, chunked',
        'Expect: 100-continue',
        'Connection: upgrade',
        'Upgrade: websocket',
        'X-Request-Id: a\r\n folded',
        'X-Request-Id: <script>alert(1)</script>',
        'X-Forwarded-Host: evil.example',
        `X-Long: ${'y'.repeat(20_000)}`,
        'Range: bytes=0-1',
        'No colon at all',
      ),
      anyText({ maxLength: 20 }).map((noise) => `X-Noise: ${noise}`),
    ),
    { maxLength: 2 },
  )

const rssMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

describe(`${REQUESTS} mutated requests over sockets`, () => {
  test('cause no fault, no open hold, no growth', async () => {
    process.stdout.write(`hygiene: seed ${SEED}\n`)
    const before = rssMb(gateway.pid)
    const requests = fc.sample(fc.tuple(mutatedBody, mutatedHead(key), fc.boolean()), {
      numRuns: REQUESTS,
      seed: SEED,
    })
    const statuses = new Map<string, number>()
    const worker = async (): Promise<void> => {
      for (let one = requests.pop(); one; one = requests.pop()) {
        const [body, lines, ownFirst] = one
        const [start = '', rest = ''] = split(
          post(
            '/v1/chat/completions',
            { Authorization: `Bearer ${key}`, Connection: 'close' },
            body,
          ),
        )
        const odd = lines.map((line) => `${line}\r\n`).join('')
        const client = dial(gateway.url)
        client.send(ownFirst ? `${start}${insertLate(rest, odd)}` : `${start}${odd}${rest}`)
        await until(() => client.closed || settledIn(client.received), 'an answer', 400).catch(
          () => {},
        )
        client.hangUp()
        const answer = client.received.replace('HTTP/1.1 100 Continue\r\n\r\n', '')
        const status = /^HTTP\/1.1 (\d{3}) /.exec(answer)?.[1] ?? 'none'
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        sent.push(client.received)
      }
    }
    await Promise.all(Array.from({ length: 20 }, worker))

    expect([...statuses.keys()].filter((status) => status.startsWith('5'))).toEqual([])
    // The mutations did reach every depth.
    expect(statuses.get('200')).toBeGreaterThan(REQUESTS / 20)
    expect(statuses.get('400')).toBeGreaterThan(REQUESTS / 10)
    expect(statuses.get('401')).toBeGreaterThan(REQUESTS / 100)
    await until(() => openHolds(cli) === 0, 'no hold is left')
    await until(async () => (await gateway.verb('status', {})).in_flight === 0, 'nothing runs')
    expect(await chat('good/m', true)).toContain('data: [DONE]')
    expect(rssMb(gateway.pid) - before).toBeLessThan(MAX_GROWTH_MB)
    expect(gateway.said()).not.toContain('"fault"')
    expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
  })
})

/** Between the request line and the first header. */
function split(request: string): [string, string] {
  const at = request.indexOf('\r\n') + 2
  return [request.slice(0, at), request.slice(at)]
}

const insertLate = (rest: string, odd: string): string => rest.replace('\r\n\r\n', `\r\n${odd}\r\n`)

function settledIn(received: string): boolean {
  const head = received.indexOf('\r\n\r\n')
  const length = /^content-length: (\d+)\r$/im.exec(received.slice(0, head + 2))?.[1]
  return head > 0 && length !== undefined && received.length - head - 4 >= Number(length)
}

describe('secrets', () => {
  test('are in no answer, no log and no file as they are', async () => {
    said += gateway.said()
    await gateway.stop()
    const disguises = (secret: string): string[] => [
      secret,
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      Buffer.from(secret).toString('base64url'),
      Buffer.from(secret).toString('hex'),
    ]
    const files = readdirSync(cli.dataDir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(cli.dataDir, name))
      .filter((path) => statSync(path).isFile())
    expect(files.map((path) => path.slice(cli.dataDir.length + 1))).toContain('gateway.db')
    const kept = files.map((path) => readFileSync(path, 'latin1')).join('\n')
    for (const secret of [CANARY, key]) {
      for (const text of disguises(secret)) {
        expect(kept.includes(text)).toBe(false)
        expect(said.includes(text)).toBe(false)
        expect(sent.some((answer) => answer.includes(text))).toBe(false)
      }
    }
    // The search finds what is there: the label of the key is kept, and is what lists show.
    expect(kept).toContain(key.slice(-4))
    for (const answer of sent) expectNoLeak(answer)
    expect(files.every((path) => (statSync(path).mode & 0o077) === 0)).toBe(true)
    const asked = await upstream.requests()
    expect(asked.some(({ headers }) => headers['authorization'] === `Bearer ${CANARY}`)).toBe(true)
    expect(JSON.stringify(asked)).not.toContain(key)
  })
})
