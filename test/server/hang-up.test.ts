// A client that disconnects, stalls or half-closes: its upstream request is aborted, its charge made, its hold resolved.
import { afterEach, describe, expect, test } from 'vitest'
import { hello } from '#test/support/furnish.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { eventually, finish, never, script, text, until } from '#test/support/scripted-upstream.ts'
import { freeWords, type Served, serve } from './serve.ts'

let served: Served | null = null
const open = async (...args: Parameters<typeof serve>): Promise<Served> => {
  served = await serve(...args)
  return served
}

afterEach(async () => {
  await served?.gateway.stop(0)
  await served?.deps.store.close()
  served = null
})

const ask = (s: Served, more: Readonly<Record<string, unknown>> = {}) => {
  const client = dial(s.gateway.url)
  client.send(post('/v1/chat/completions', s.key.bearer, hello(more)))
  return client
}

/** The one activity entry, once it is settled. */
async function settled(s: Served) {
  await eventually(async () => (await s.openHolds()) === 0, 'the hold is resolved')
  await eventually(() => s.gateway.live().inFlight === 0, 'nothing is in flight')
  expect(await s.inProgress()).toBe(0)
  const [entry] = await s.deps.store.activity.list({ limit: 10 })
  return entry!
}

describe.each([true, false])('with stream %s', (stream) => {
  test('T15: a client that disconnects before the upstream has answered', async () => {
    const played = script(
      async function* () {},
      (call) => until(never, call),
    )
    const s = await open(played.upstream)
    const client = ask(s, { stream })
    await eventually(() => played.calls.length === 1, 'the upstream is asked')
    expect(await s.openHolds()).toBe(1)
    client.hangUp()
    const entry = await settled(s)
    expect(played.over).toBe(true)
    expect(entry).toMatchObject({ endedBy: 'client', status: 499, usageSource: 'estimated' })
    expect(entry.cost).toBeGreaterThan(0n)
  })

  test('T15: a client that disconnects in the middle of the answer', async () => {
    const played = script(async function* (call) {
      yield [text('one '), text('two ')]
      await until(never, call)
    })
    const s = await open(played.upstream)
    const client = ask(s, { stream })
    await eventually(
      () => (stream ? client.received.includes('two ') : played.asked === 1),
      'the first words arrive',
    )
    client.hangUp()
    const entry = await settled(s)
    expect(played.over).toBe(true)
    expect(entry).toMatchObject({ endedBy: 'client', usageSource: 'estimated' })
    expect(entry.usage.outputTokens).toBe(2)
  })

  test('a client that half-closes its connection counts as disconnected', async () => {
    const played = script(async function* (call) {
      yield [text('one ')]
      await until(never, call)
    })
    const s = await open(played.upstream)
    const client = ask(s, { stream })
    await eventually(() => played.asked === 1, 'the upstream speaks')
    client.socket.end()
    expect(await settled(s)).toMatchObject({ endedBy: 'client' })
  })
})

test.each([
  ['another request', (one: string) => one],
  ['an empty line', () => '\r\n'],
])(
  '%s behind a request closes its connection: it is paid for, and logged as left',
  async (_, behind) => {
    const played = script(async function* () {
      // A provider that takes its time, as all do: the second arrives before the first has its answer.
      await Bun.sleep(20)
      yield [text('one '), finish()]
    })
    const s = await open(played.upstream)
    const client = dial(s.gateway.url)
    const one = post('/v1/chat/completions', s.key.bearer, hello())
    client.send(one + behind(one))
    await eventually(() => client.closed, 'the connection is closed')
    expect(await settled(s)).toMatchObject({ endedBy: 'client', status: 499 })
    await eventually(() => s.lines.length > 0, 'it is logged')
    expect(s.lines).toMatchObject([{ status: 499 }])
    expect(played.asked).toBe(1)
    expect(await s.deps.store.ledger.list({ kind: 'charge', limit: 10 })).toHaveLength(1)
    expect(await s.deps.store.activity.list({ limit: 10 })).toHaveLength(1)
  },
)

const MEGABYTE = 'x'.repeat(1_000_000)

test('a client that stops reading stops the upstream, and is disconnected after a time-out', async () => {
  const played = script(async function* () {
    for (;;) yield [text(MEGABYTE)]
  })
  const s = await open(played.upstream, { stalledReaderMs: 300 })
  await freeWords(s)
  const client = dial(s.gateway.url)
  client.socket.pause()
  client.send(post('/v1/chat/completions', s.key.bearer, hello({ stream: true })))
  await eventually(() => played.asked > 1, 'the upstream speaks')
  const entry = await settled(s)
  expect(played.over).toBe(true)
  // As much as fits into the buffers of two sockets, and no more.
  expect(played.asked).toBeLessThan(40)
  expect(entry).toMatchObject({ endedBy: 'client', usageSource: 'estimated' })
  expect(s.lines.at(-1)).toMatchObject({ status: 499, cost_usd: null })
})

test('the upstream is not read faster than the client reads', async () => {
  const played = script(async function* () {
    for (;;) yield [text(MEGABYTE)]
  })
  const s = await open(played.upstream)
  await freeWords(s)
  const client = dial(s.gateway.url)
  client.socket.pause()
  client.send(post('/v1/chat/completions', s.key.bearer, hello({ stream: true })))
  let asked = 0
  await eventually(async () => {
    const before = played.asked
    // Long enough for a stream that reads ahead to have done so.
    await Bun.sleep(50)
    asked = played.asked
    return asked > 0 && asked === before
  }, 'the buffers of two sockets are full')
  expect(asked).toBeLessThan(40)
  client.socket.resume()
  await eventually(() => played.asked > asked + 40, 'the upstream is read on')
  client.hangUp()
  expect(await settled(s)).toMatchObject({ endedBy: 'client' })
})

test('a client that reads slowly is not disconnected', async () => {
  const words = 40
  const played = script(async function* () {
    for (let i = 0; i < words; i++) yield [text(MEGABYTE)]
  })
  const s = await open(played.upstream, { stalledReaderMs: 2_000 })
  await freeWords(s)
  const response = await s.chat(hello({ stream: true }))
  let bytes = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes % 5 === 0) await Bun.sleep(5)
  }
  expect(bytes).toBeGreaterThan(words * MEGABYTE.length)
  expect(await settled(s)).toMatchObject({ endedBy: 'completed' })
})

test('a client that disconnects from a stalled stream is settled at once', async () => {
  const played = script(async function* () {
    for (;;) yield [text(MEGABYTE)]
  })
  const s = await open(played.upstream)
  await freeWords(s)
  const client = dial(s.gateway.url)
  client.socket.pause()
  client.send(post('/v1/chat/completions', s.key.bearer, hello({ stream: true })))
  let before = -1
  await eventually(async () => {
    const still = played.asked === before && played.asked > 1
    before = played.asked
    await Bun.sleep(50)
    return still
  }, 'the stream is stalled')
  client.hangUp()
  expect(await settled(s)).toMatchObject({ endedBy: 'client' })
})

test('many clients that disconnect at every stage leave no hold, slot or upstream request', async () => {
  const s = await open(null)
  const clients = Array.from({ length: 60 }, (_, i) =>
    ask(s, { stream: i % 2 === 0, model: 'demo/lorem', user: 'rate-100 delay-20' }),
  )
  for (const [i, client] of clients.entries()) setTimeout(client.hangUp, (i * 7) % 200)
  await eventually(() => clients.every(({ closed }) => closed), 'all have left')
  await settled(s)
})
