/** A retry never pays twice: an image whose client is gone is drawn, charged once, and there for whoever asks again. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  type Appliance,
  chargesIn,
  furnishCli,
  nanos,
  openHolds,
  startAppliance,
  until,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { dial, post } from '#test/support/raw-client.ts'
import { readSse } from '#test/support/read-sse.ts'
import { HELLO, startProvider } from './faults/provider.ts'

const cli = openCli()
let gateway: Appliance

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
})
afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

/** Drawn in a second and a half: time enough to hang up, and to be refused. */
const painting = (prompt: string) => ({
  model: 'demo/image',
  modalities: ['image' as never],
  user: 'delay-1500',
  messages: [{ role: 'user' as const, content: prompt }],
})

const headers = (key: string, name: string) => ({
  Authorization: `Bearer ${key}`,
  'Content-Type': 'application/json',
  'Idempotency-Key': name,
})
const ask = (key: string, name: string, body: unknown) =>
  gateway.chat(key, body, { headers: headers(key, name) })
const inFlight = () => openHolds(cli)
const chargesOf = async (id: string) =>
  (await gateway.verb('ledger.list', { key: id, kind: 'charge' })).map((entry) => ({
    id: entry.generation_id,
    amount: nanos(entry.amount_usd),
  }))

test('T22: a client that is gone, a retry, a killed gateway: one image, one charge', async () => {
  const { key, id } = await gateway.verb('keys.create', { name: 'artist' })
  const client = dial(gateway.url)
  client.send(post('/v1/chat/completions', headers(key, 'order-1'), painting('a red fox')))
  await until(() => inFlight() === 1, 'it is being drawn')
  client.hangUp()
  const early = await ask(key, 'order-1', painting('a red fox'))
  expect(early.status).toBe(409)
  expect(await early.json()).toMatchObject({ error: { code: 'idempotency_conflict' } })
  expect(inFlight()).toBe(1)

  await until(() => inFlight() === 0, 'it is drawn')
  const retried = await ask(key, 'order-1', painting('a red fox'))
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  const body = await retried.text()
  expect(body).toContain('data:image/png;base64,')
  const charge = { id: retried.headers.get('x-generation-id'), amount: -nanos('0.01') }
  expect(await chargesOf(id)).toEqual([charge])

  await gateway.kill()
  gateway = await startAppliance(cli)
  const again = await ask(key, 'order-1', painting('a red fox'))
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  expect(await again.text()).toBe(body)
  expect(await chargesOf(id)).toEqual([charge])
  expect(openHolds(cli)).toBe(0)
  expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
})

test('one that was being drawn when the gateway was killed is drawn anew, and paid for once', async () => {
  const { key, id } = await gateway.verb('keys.create', { name: 'unlucky' })
  const client = dial(gateway.url)
  client.send(post('/v1/chat/completions', headers(key, 'order-2'), painting('a blue fox')))
  await until(() => inFlight() === 1, 'it is being drawn')
  await gateway.kill()
  gateway = await startAppliance(cli)
  expect(await chargesOf(id)).toEqual([])
  const retried = await ask(key, 'order-2', painting('a blue fox'))
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([200, null])
  expect(await chargesOf(id)).toHaveLength(1)
})

test('the stock client comes back by itself until it has its image', async () => {
  const { key, id } = await gateway.verb('keys.create', { name: 'stock' })
  const client = gateway.client(key, { maxRetries: 5 })
  const options = { headers: { 'Idempotency-Key': 'order-3' } }
  const hasty = client.chat.completions
    .create(painting('a green fox'), { ...options, timeout: 200, maxRetries: 0 })
    .catch((thrown: Error) => thrown)
  expect(await hasty).toMatchObject({ message: 'Request timed out.' })
  const { data, response } = await client.chat.completions
    .create(painting('a green fox'), options)
    .withResponse()
  expect(data.choices[0]?.message).toMatchObject({ images: [{ type: 'image_url' }] })
  expect(response.headers.get('idempotent-replayed')).toBe('true')
  expect(await chargesOf(id)).toHaveLength(1)
})

test('a stream is sent again to the byte, by the next gateway too', async () => {
  const { key, id } = await gateway.verb('keys.create', { name: 'reader' })
  const body = {
    model: 'demo/lorem',
    stream: true,
    max_tokens: 40,
    messages: [{ role: 'user', content: 'hi' }],
  }
  const said = await (await ask(key, 'order-4', body)).text()
  expect(readSse(said)).toMatchObject({ done: true })
  expect(await gateway.stop()).toBe(0)
  gateway = await startAppliance(cli)
  const again = await ask(key, 'order-4', body)
  expect(again.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(await again.text()).toBe(said)
  expect(await chargesOf(id)).toHaveLength(1)
})

// A node that was killed starts again after three seconds.
test('one that was paid for when the gateway was killed is there for whoever asks again', {
  timeout: 60_000,
}, async () => {
  const { key, id } = await gateway.verb('keys.create', { name: 'in between' })
  // Long enough to take a while to be written.
  const words = 'a word of many. '.repeat(200_000)
  const provider = startProvider(words)
  onTestFinished(() => provider.stop())
  await provider.addTo(gateway)
  for (let n = 1; n <= 5; n++) {
    const asking = ask(key, `order-${n}`, HELLO)
      .then((response) => response.text())
      .catch(() => null)
    const before = chargesIn(cli).length
    while (chargesIn(cli).length === before) await new Promise((resolve) => setImmediate(resolve))
    await gateway.kill()
    await asking
    gateway = await startAppliance(cli)
    const retried = await ask(key, `order-${n}`, HELLO)
    expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(await retried.text()).toContain(words)
    expect(await chargesOf(id)).toHaveLength(n)
  }
})
