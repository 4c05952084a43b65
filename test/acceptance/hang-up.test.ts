/** A client that hangs up: its upstream is let go within a second, it pays for what was produced, and nothing stays taken. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nanos, openHolds, priced, until } from '#test/support/appliance.ts'
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
      async () => (await upstream.requests()).every(({ aborted, finished }) => aborted || finished),
      'every upstream is let go',
    )
  })
})
