// Shutdown: new requests are refused, running ones finish or are aborted, and every one of them is settled.
import { expect, test } from 'vitest'
import { hello } from '#test/support/furnish.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { readSse } from '#test/support/read-sse.ts'
import { eventually, finish, never, script, text, until } from '#test/support/scripted-upstream.ts'
import { freeWords, type Served, serve } from './serve.ts'

const entryOf = async ({ deps }: Served) => (await deps.store.activity.list({ limit: 1 }))[0]

test('a running stream finishes; meanwhile new requests are refused', async () => {
  let release: () => void = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const played = script(async function* () {
    yield [text('one ')]
    await released
    yield [text('two'), finish()]
  })
  const s = await serve(played.upstream)
  const response = await s.chat(hello({ stream: true }))
  const { url } = s.gateway
  const stopped = s.gateway.stop(10_000)

  const ready = await fetch(`${url}/readyz`)
  expect(ready.status).toBe(503)
  expect(await ready.json()).toMatchObject({ checks: { accepting_requests: false } })
  const refused = await s.chat(hello())
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } })
  expect(s.gateway.live()).toEqual({ inFlight: 1 })

  release()
  expect(readSse(await response.text())).toMatchObject({ text: 'one two', done: true })
  await stopped
  expect(await s.openHolds()).toBe(0)
  expect(await entryOf(s)).toMatchObject({ endedBy: 'completed', status: 200 })
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('a request whose body comes once that has begun is refused', async () => {
  const released = Promise.withResolvers<void>()
  const played = script(async function* () {
    yield [text('one')]
    await released.promise
    yield [finish()]
  })
  const s = await serve(played.upstream)
  const response = await s.chat(hello({ stream: true }))
  const client = dial(s.gateway.url)
  const [head = '', body = ''] = post('/v1/chat/completions', s.key.bearer, hello()).split(
    /(?<=\r\n\r\n)/,
  )
  client.send(head)
  // Its head has come once one that was sent later is answered.
  await (await fetch(`${s.gateway.url}/healthz`)).text()
  const stopped = s.gateway.stop(10_000)
  client.send(body)
  await eventually(() => client.received.includes('shutting_down'), 'it is refused')
  expect(client.received).toContain('HTTP/1.1 503')
  expect(played.calls).toHaveLength(1)
  released.resolve()
  await response.text()
  await stopped
  client.hangUp()
})

test('at the deadline a client gets an error in its stream, and is charged for what arrived', async () => {
  const played = script(async function* (call) {
    yield [text('some words')]
    await until(never, call)
  })
  const s = await serve(played.upstream)
  const response = await s.chat(hello({ stream: true }))
  const reading = response.text()
  await s.gateway.stop(50)
  const { chunks, done } = readSse(await reading)
  expect(chunks.at(-2)).toMatchObject({
    error: { code: 'shutting_down' },
    choices: [{ finish_reason: 'error' }],
  })
  expect(chunks.at(-1)?.usage).toMatchObject({ cost_details: { source: 'estimated' } })
  expect(done).toBe(true)
  expect(await s.openHolds()).toBe(0)
  const entry = await entryOf(s)
  expect(entry).toMatchObject({ endedBy: 'gateway', code: 'shutting_down' })
  expect(entry?.cost).toBeGreaterThan(0n)
})

test('at the deadline a request without an answer gets an error status', async () => {
  const played = script(
    async function* () {},
    (call) => until(never, call),
  )
  const s = await serve(played.upstream)
  const answers = [s.chat(hello()), s.chat(hello({ stream: true }))]
  await eventually(() => played.calls.length === 2, 'both are under way')
  await s.gateway.stop(20)
  for (const response of await Promise.all(answers)) {
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'true'])
  }
  expect(await s.openHolds()).toBe(0)
})

/** A gateway that sends a stream which its client has stopped reading. */
async function serveUnread() {
  const played = script(async function* () {
    for (;;) yield [text('x'.repeat(1_000_000))]
  })
  const s = await serve(played.upstream)
  await freeWords(s)
  const client = dial(s.gateway.url)
  client.socket.pause()
  client.send(post('/v1/chat/completions', s.key.bearer, hello({ stream: true })))
  await eventually(() => played.asked > 3, 'the stream has begun')
  return { s, played, client }
}

test.each([
  ['at the deadline', ({ stop }: Served['gateway']) => stop(20)],
  ['told to stop again', ({ stop }: Served['gateway']) => Promise.all([stop(60_000), stop(0)])],
])('%s a client that has stopped reading does not delay the shutdown', async (_, stop) => {
  const { s, played, client } = await serveUnread()
  await stop(s.gateway)
  expect(s.gateway.live()).toEqual({ inFlight: 0 })
  expect(await s.openHolds()).toBe(0)
  expect(played.over).toBe(true)
  client.hangUp()
})

test('an idle gateway stops at once, and a second stop has no effect', async () => {
  const s = await serve(null)
  await (await s.chat(hello())).text()
  await Promise.all([s.gateway.stop(60_000), s.gateway.stop(60_000)])
  await s.deps.store.close()
})
