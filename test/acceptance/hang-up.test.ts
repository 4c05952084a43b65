/** A client that hangs up: its upstream is let go within a second, it pays for what was produced, and nothing stays taken. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ActivityRow,
  type Appliance,
  furnishCli,
  nanos,
  openHolds,
  priced,
  readDatabase,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { dial, post, type RawClient } from '#test/support/raw-client.ts'
import { type ReplayedRequest, startReplay } from '#test/support/replay.ts'

const LET_GO_MS = 1_000
const replay = await startReplay()
const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  if (!replay) return
  furnishCli(cli)
  gateway = await startAppliance(cli)
  await add('early', '/s/~delay=20000')
  await add('whole', '/s/~delay=20000')
  await add('middle', '/s/~prompt=100,completion=40,chunks=40,gap=100')
  // Its count comes with every chunk, long before its end.
  await add('counted', '/r/other-openai-compatible/perplexity-stream-no-done/~stall=4000')
  await add('stuck', '/r/openai-chat/stream-include-usage/~stall=700')
  await add('silent', '/f/stall')
  await add('quick', '/s')
})

afterAll(async () => {
  await gateway?.kill()
  await replay?.stop()
  cli.close()
})

async function add(name: string, path: string): Promise<void> {
  await gateway.verb('providers.add', {
    name,
    type: 'openai-compatible',
    base_url: `${replay?.url}${path}`,
    credential: null,
  })
  await gateway.verb('models.add', { model: `${name}/m`, in_usd: '1', out_usd: '2' })
}

const askedOf = async (requestId: string): Promise<ReplayedRequest | undefined> =>
  (await replay?.requests())?.find(({ headers }) => headers['x-request-id'] === requestId)

interface HangUp {
  readonly row: ActivityRow
  readonly text: string
  readonly body: string
}

/** Asks, hangs up once `ready`, and waits for all that must follow. */
async function hangUp(
  model: string,
  stream: boolean,
  ready: (client: RawClient) => boolean,
): Promise<HangUp> {
  const { key, id } = await gateway.verb('keys.create', { name: model, concurrency_limit: 1 })
  const requestId = `hang-up.${model.replace('/', '.')}.${stream}.${id}`
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi there' }] })
  const client = dial(gateway.url)
  const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': requestId }
  client.send(post('/v1/chat/completions', headers, body))
  await until(async () => (await askedOf(requestId)) !== undefined, 'the upstream is asked')
  await until(() => ready(client), 'it is time to hang up')
  expect(await askedOf(requestId)).toMatchObject({ aborted: false, finished: false })
  client.hangUp()

  await until(
    async () => (await askedOf(requestId))?.aborted === true,
    'the upstream is let go',
    LET_GO_MS,
  )
  const readLine = () =>
    readDatabase<ActivityRow>(cli, 'SELECT * FROM activity WHERE request_id = ?', requestId)[0]
  // A young hold has no row yet, so that none there says nothing by itself.
  await until(() => readLine() !== undefined, 'the log has its line', LET_GO_MS)
  await until(() => openHolds(cli) === 0, 'the hold is resolved', LET_GO_MS)
  const row = readLine()
  if (!row) throw new Error('the log knows nothing of it')

  const info = await fetch(`${gateway.url}/v1/key`, { headers })
  expect(await info.json()).toMatchObject({
    usage: { requests_in_progress: 0, reserved_usd: '0' },
  })
  const [entry] = await gateway.verb('ledger.list', { key: id, kind: 'charge' })
  expect(nanos(entry?.amount_usd ?? '0')).toBe(-BigInt(row.cost_nanos))
  expect(entry?.generation_id).toBe(row.generation_id)
  // Its only place among the concurrent is free.
  const next = { model: 'quick/m', messages: [{ role: 'user', content: 'hi' }] }
  expect((await gateway.chat(key, next)).status).toBe(200)
  const text = [...client.received.matchAll(/"delta":\{"content":"([^"]*)"\}/g)]
    .map(([, piece]) => piece)
    .join('')
  return { row, text, body }
}

const tokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)
const at = () => true

describe.skipIf(!replay)('a client that hangs up', () => {
  test.each([
    ['before the first byte of a stream', 'early/m', true],
    ['before a whole answer', 'whole/m', false],
    ['on a provider that never answers', 'silent/m', true],
    ['on a whole answer that never comes', 'silent/m', false],
  ])('T15: %s pays for its prompt', async (_, model, stream) => {
    const { row, body } = await hangUp(model, stream, at)
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
    const { row, text, body } = await hangUp('middle/m', true, ({ received }) =>
      received.includes('"content":"ok "'),
    )
    expect(row).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'estimated' })
    // What it had seen, and at most what came while it hung up.
    expect(row.output_tokens).toBeGreaterThanOrEqual(tokens(text))
    expect(row.output_tokens).toBeLessThan(40)
    expect(BigInt(row.cost_nanos)).toBe(priced([tokens(body), '1'], [row.output_tokens, '2']))
  })

  test('on a stream that has fallen silent pays for what came before', async () => {
    const { row, body } = await hangUp('stuck/m', true, ({ received }) =>
      received.includes('Southern'),
    )
    expect(row).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'estimated' })
    expect(BigInt(row.cost_nanos)).toBe(priced([tokens(body), '1'], [row.output_tokens, '2']))
    expect(row.output_tokens).toBeGreaterThan(0)
  })

  test("T15: after the provider's own count pays by that", async () => {
    const { row } = await hangUp('counted/m', true, ({ received }) =>
      received.includes('"role":"assistant"'),
    )
    expect(row).toMatchObject({ status: 499, ended_by: 'client', usage_source: 'provider' })
    const [count] = readDatabase<{ input_tokens: number }>(
      cli,
      'SELECT input_tokens FROM activity WHERE generation_id = ?',
      row.generation_id,
    )
    expect(count?.input_tokens).toBe(8)
    expect(BigInt(row.cost_nanos)).toBe(priced([8, '1'], [row.output_tokens, '2']))
  })

  test('is followed by others: two hundred at once leave nothing behind', async () => {
    const { key, id } = await gateway.verb('keys.create', { name: 'crowd' })
    const clients = Array.from({ length: 200 }, (_, place) => {
      const client = dial(gateway.url)
      const stream = place % 2 === 0
      // Asked for a whole answer, the synthetic provider has it at once unless it is told to wait.
      const model = stream && place % 3 > 0 ? 'middle/m' : 'early/m'
      const body = { model, stream, messages: [{ role: 'user', content: 'hi' }] }
      client.send(post('/v1/chat/completions', { Authorization: `Bearer ${key}` }, body))
      return client
    })
    await until(async () => (await gateway.verb('status', {})).in_flight === 200, 'all are there')
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
      async () =>
        (await replay?.requests())?.every(({ aborted, finished }) => aborted || finished) === true,
      'every upstream is let go',
    )
  })
})
