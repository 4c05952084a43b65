/** A client that hangs up: its upstream is let go within a second, it pays for what was produced, and nothing stays taken. */
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type ActivityRow,
  furnishCli,
  nanos,
  openHolds,
  priced,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openBlackHole } from '#test/support/black-hole.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { oks, startSyntheticUpstream } from '#test/support/synthetic-upstream.ts'
import {
  type HangUpGateway,
  LET_GO_MS,
  openHangUpGateway,
  tokens,
} from './hang-up/hang-up-gateway.ts'
import { testSilentStreams } from './hang-up/silent-streams.ts'

const chat = { kind: 'chat', promptTokens: 100, completionTokens: 20, chunks: oks(10) } as const
const upstream = await startSyntheticUpstream({
  quick: chat,
  early: { ...chat, delayMs: 20_000 },
  whole: { ...chat, delayMs: 20_000 },
  middle: { ...chat, completionTokens: 40, chunks: oks(40), gapMs: 100 },
  // Its count comes with every chunk, long before its end.
  counted: {
    ...chat,
    promptTokens: 8,
    countsAlong: true,
    breaksOff: { afterChunks: 1, ending: 'silence' },
  },
  stuck: { ...chat, breaksOff: { afterChunks: 1, ending: 'silence' } },
  silent: { kind: 'silence' },
})
let setup: HangUpGateway

beforeAll(async () => {
  setup = await openHangUpGateway(upstream.baseUrls, upstream.requests)
})

afterAll(async () => {
  await setup?.close()
  await upstream.stop()
})

const at = () => true

describe('a client that hangs up', () => {
  test.each([
    ['before the first byte of a stream', 'early/m', true],
    ['before a whole answer', 'whole/m', false],
    ['on a provider that never answers', 'silent/m', true],
    ['on a whole answer that never comes', 'silent/m', false],
  ])('T15: %s pays for its prompt', async (_, model, stream) => {
    const { row, body } = await setup.hangUp(model, stream, at)
    expect(row).toMatchObject({
      status: 499,
      code: null,
      ended_by: 'client',
      usage_source: 'estimated',
      output_tokens: 0,
      stream: Number(stream),
    })
    expect(BigInt(row.cost_nanos)).toBe(priced([tokens(body), '1']))
    expect(row.cost_nanos).toBeGreaterThan(0)
  })

  test('T15: in the middle of a stream pays for what was produced', async () => {
    const { row, text, body } = await setup.hangUp('middle/m', true, ({ received }) =>
      received.includes('"content":"ok "'),
    )
    expect(row).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'estimated' })
    // What it had seen, and at most what came while it hung up.
    expect(row.output_tokens).toBeGreaterThanOrEqual(tokens(text))
    expect(row.output_tokens).toBeLessThan(40)
    expect(BigInt(row.cost_nanos)).toBe(priced([tokens(body), '1'], [row.output_tokens, '2']))
  })

  testSilentStreams(() => setup, '"content":"ok "')

  test('is followed by others: two hundred at once leave nothing behind', async () => {
    const { cli, gateway } = setup
    const { key, id } = await gateway.verb('keys.create', { name: 'crowd' })
    const before = (await upstream.requests()).length
    const clients = Array.from({ length: 200 }, (_, place) => {
      const client = dial(gateway.url)
      const stream = place % 2 === 0
      // Asked for a whole answer, the synthetic provider has it at once unless it is told to wait.
      const model = stream && place % 3 > 0 ? 'middle/m' : 'early/m'
      const body = { model, stream, messages: [{ role: 'user', content: 'hi' }] }
      client.send(post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, body))
      return client
    })
    await until(() => openHolds(cli) === 200, 'all are there')
    // Who leaves before its provider was asked pays nothing.
    await until(
      async () => (await upstream.requests()).length === before + 200,
      'all have asked the provider',
    )
    for (const client of clients) client.hangUp()
    await until(() => openHolds(cli) === 0, 'no hold is left', 2 * LET_GO_MS)
    await until(
      async () => (await gateway.verb('status', {})).in_flight === 0,
      'nothing is in flight',
    )
    const charges = await gateway.verb('ledger.list', { key: id, kind: 'charge', limit: 1_000 })
    expect(charges).toHaveLength(200)
    expect(charges.every(({ amount_usd: amount }) => nanos(amount) < 0n)).toBe(true)
    expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
    await until(
      async () => (await upstream.requests()).every(({ aborted, finished }) => aborted || finished),
      'every upstream is let go',
    )
  })
})

/** Accepts connections and never says a word, as a TLS server that hangs or a proxy that does. */
async function startMute(heard: (bytes: Buffer) => void = () => {}): Promise<number> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', heard)
    sockets.push(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function openHole(): Promise<string> {
  const hole = await openBlackHole()
  onTestFinished(() => hole.close())
  return hole.url
}

interface Unreached {
  readonly baseUrl: string
  readonly env?: Readonly<Record<string, string>>
}

/** A gateway of its own, with the model `far/m`. */
async function openFar(baseUrl: string, env: Readonly<Record<string, string>>) {
  const cli = furnishCli(openCli())
  onTestFinished(() => cli.close())
  const gateway = await startAppliance(cli, { env })
  onTestFinished(() => gateway.kill())
  await gateway.verb('providers.add', {
    name: 'far',
    type: 'openai-compatible',
    base_url: baseUrl,
    credential: null,
  })
  await gateway.verb('models.add', { model: 'far/m', in_usd: '1', out_usd: '2' })
  return { cli, gateway, ...(await gateway.verb('keys.create', { name: 'leaves' })) }
}

describe('a client that hangs up before its request was written to the provider', () => {
  const ways: readonly (readonly [string, () => Promise<Unreached>])[] = [
    ['whose kernel drops the SYN', async () => ({ baseUrl: `${await openHole()}/v1` })],
    [
      'that never answers the ClientHello',
      async () => ({ baseUrl: `https://localhost:${await startMute()}/v1` }),
    ],
    [
      'behind a proxy that drops the SYN',
      async () => ({
        baseUrl: 'http://provider.example/v1',
        env: { HTTP_PROXY: await openHole() },
      }),
    ],
    [
      'behind a proxy that never answers the CONNECT',
      async () => ({
        baseUrl: 'https://provider.example/v1',
        env: { HTTPS_PROXY: `http://127.0.0.1:${await startMute()}` },
      }),
    ],
  ]

  test.each(ways)('T45: %s, pays nothing', async (_, open) => {
    const { baseUrl, env = {} } = await open()
    const { cli, gateway, key, id } = await openFar(baseUrl, env)
    const messages = [{ role: 'user', content: 'hi '.repeat(30_000) }]
    for (const stream of [true, false]) {
      const client = dial(gateway.url)
      const body = JSON.stringify({ model: 'far/m', stream, messages })
      client.send(post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, body))
      // A hold has its row once it is 50 ms old: by then the gateway is connecting.
      await until(() => openHolds(cli) === 1, 'the request is in progress')
      client.hangUp()
      await until(() => openHolds(cli) === 0, 'the hold is resolved', 2 * LET_GO_MS)
    }
    const rows = readDatabase<ActivityRow>(cli, 'SELECT * FROM activity')
    expect(rows).toHaveLength(2)
    for (const row of rows) {
      expect(row).toMatchObject({ status: 499, ended_by: 'client', cost_nanos: 0 })
    }
    expect(await gateway.verb('ledger.list', { key: id, kind: 'charge' })).toEqual([])
  })
})

test('T45: a client that hangs up once a proxy has its request pays for its prompt', async () => {
  let heard = ''
  const port = await startMute((bytes) => {
    heard += bytes.toString('latin1')
  })
  const { gateway, cli, key } = await openFar('http://provider.example/v1', {
    HTTP_PROXY: `http://127.0.0.1:${port}`,
  })
  const client = dial(gateway.url)
  const body = JSON.stringify({ model: 'far/m', messages: [{ role: 'user', content: 'hi there' }] })
  client.send(post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, body))
  await until(() => heard.includes('hi there'), 'the proxy has the request')
  client.hangUp()
  const read = () => readDatabase<ActivityRow>(cli, 'SELECT * FROM activity')
  await until(() => read().length === 1, 'it is settled', 2 * LET_GO_MS)
  expect(read()[0]).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'estimated' })
  expect(read()[0]?.cost_nanos).toBeGreaterThan(0)
})
