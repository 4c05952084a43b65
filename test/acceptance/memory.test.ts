/** Memory: unfinished bodies, unread replays and unread answers of one key are bounded, and the others are served meanwhile. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { dial, head, post, type RawClient } from '#test/support/raw-client.ts'
import { FULL } from '#test/support/tier.ts'

const MEBIBYTE = 1024 * 1024
const BODY_BYTES = 31 * MEBIBYTE
const ANSWER_BYTES = 16 * MEBIBYTE
const BODIES = FULL ? 60 : 20
const REPLAYS = FULL ? 100 : 30
const MOST_RESIDENT = 400 * MEBIBYTE

const cli = furnishCli(openCli())
let gateway: Appliance
let clients: RawClient[] = []

const message = { role: 'assistant', content: 'w'.repeat(ANSWER_BYTES) }
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const answer = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
/** Its answer is as long as one may be kept in half of the room of one. */
const provider = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response(answer, { headers: { 'content-type': 'application/json' } }),
})

beforeEach(async () => {
  gateway = await startAppliance(cli)
})
afterEach(async () => {
  for (const client of clients) client.hangUp()
  clients = []
  await gateway.kill()
})

const issue = async (name: string) =>
  (await gateway.verb('keys.create', { name, concurrency_limit: 1, rpm_limit: 5 })).key

const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) * 1024

const connect = (text: string): RawClient => {
  const client = dial(gateway.url)
  client.send(text)
  clients.push(client)
  return client
}

/** All of a body but its end. */
const PART = Buffer.alloc(BODY_BYTES - 1, ' ')
const sent = new WeakSet<RawClient>()

function sendPart(start: string): RawClient {
  const client = connect(start)
  client.socket.write(PART, () => sent.add(client))
  return client
}

const announce = (key: string): string =>
  head('/v1/chat/completions', { Authorization: `Bearer ${key}` }, BODY_BYTES)

/** Whether the gateway has received it all, or refused it. */
const isTaken = (client: RawClient): boolean => sent.has(client) || client.received !== ''

const hasStatus = ({ received }: RawClient, status: number): boolean =>
  received.startsWith(`HTTP/1.1 ${status} `)

const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'hi' }] }
const expectServed = async (key: string): Promise<void> =>
  expect((await gateway.chat(key, hello)).status).toBe(200)

test(`T42: ${BODIES} unfinished bodies of 31 MiB and ${REPLAYS} unread replays of 16 MiB`, {
  timeout: 120_000,
}, async () => {
  await gateway.verb('providers.add', {
    name: 'acme',
    type: 'openai-compatible',
    base_url: provider.url.origin,
    credential: null,
  })
  await gateway.verb('models.add', { model: 'acme/m', in_usd: '1', out_usd: '1' })
  const [greedy, other] = [await issue('greedy'), await issue('other')]

  for (let n = 0; n < BODIES; n++) sendPart(announce(greedy))
  await until(() => clients.every(isTaken), 'each is received or refused', 60_000)
  expect(clients.filter((client) => client.received === '')).toHaveLength(1)
  await until(() => clients.filter(({ closed }) => closed).length === BODIES - 1, 'they are closed')
  const refused = clients.find(({ received }) => received !== '')?.received
  expect(refused).toMatch(/^Connection: close\r$/m)
  expect(refused).toContain('"limit":"key_memory_bytes","limit_value":100663296')
  await expectServed(other)

  const headers = { Authorization: `Bearer ${other}`, 'Idempotency-Key': 'one' }
  const asking = post('/v1/chat/completions', headers, { ...hello, model: 'acme/m' })
  const first = connect(asking)
  await until(() => first.received.length > ANSWER_BYTES, 'the first answer is read', 30_000)
  const replays = Array.from({ length: REPLAYS }, () => {
    const client = connect(asking)
    client.socket.once('data', () => client.socket.pause())
    return client
  })
  await until(() => replays.every(({ received }) => received !== ''), 'all have begun', 60_000)
  expect(replays.every((client) => hasStatus(client, 200))).toBe(true)
  await expectServed(other)
  await expectServed(await issue('third'))
  expect(residentBytes()).toBeLessThan(MOST_RESIDENT)

  const [reader] = replays
  reader?.socket.resume()
  await until(() => reader?.received.endsWith('\r\n0\r\n\r\n') === true, 'it is whole', 30_000)
  expect(reader?.received.length).toBeGreaterThan(ANSWER_BYTES)
})

test('a body in chunks is counted as it comes', async () => {
  const key = await issue('chunks')
  const start = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
    `\r\n${BODY_BYTES.toString(16)}\r\n`,
  ].join('\r\n')
  const isOver = (): boolean => clients.some(({ received }) => received !== '')
  while (clients.length < 4 && !isOver()) {
    sendPart(start)
    await until(() => isOver() || clients.every(isTaken), 'it is received or refused')
  }
  await until(isOver, 'one is refused')
  const refused = clients.find(({ received }) => received !== '')
  expect(refused?.received).toMatch(/^HTTP\/1\.1 429 /)
  await until(() => refused?.closed === true, 'it is closed')
})

test('what a body took is given back when its client hangs up, and at its answer', async () => {
  const key = await issue('back')
  const client = sendPart(announce(key))
  const again = sendPart(announce(key))
  await until(() => hasStatus(again, 429), 'there is no memory for a second')
  client.hangUp()
  // Beyond the context of the model, which is known once the body is read.
  const large = { ...hello, unknown: ' '.repeat(BODY_BYTES - 1_000) }
  const ask = async (): Promise<number> => (await gateway.chat(key, large)).status
  await until(async () => (await ask()) !== 429, 'there is memory again')
  expect(await ask()).toBe(400)
  expect(await ask()).toBe(400)
})
