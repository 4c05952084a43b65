// Whole answers too long for one packet: sent unchanged, waiting for a slow reader up to a time-out.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBody } from '#http/request-context.ts'
import { listen } from '#server/listener.ts'
import { hello } from '#test/support/furnish.ts'
import { dial } from '#test/support/raw-client.ts'
import { eventually, finish, script, text } from '#test/support/scripted-upstream.ts'
import { type Served, serve } from './serve.ts'

const ANYWHERE = { hostname: '127.0.0.1', port: 0 }
const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const LENGTH = 30_000_000

describe('through the gateway', () => {
  let s: Served
  let words = ''
  beforeAll(async () => {
    s = await serve(
      script(async function* () {
        yield [text(words), finish()]
      }).upstream,
    )
  })
  afterAll(async () => {
    await s.gateway.stop(0)
    await s.deps.store.close()
  })

  test.each([
    ['plain', 'word '],
    ['beyond Latin', 'größer 猫 😀 "quoted" \\ \u0000 '],
  ])('%s text of any length arrives unchanged', async (_, unit) => {
    for (const times of [1, 400, 1_000, 3_000, 200_000]) {
      words = unit.repeat(times)
      const response = await s.chat(hello())
      const body = (await response.json()) as { choices: { message: { content: string } }[] }
      expect(response.headers.get('content-type')).toBe('application/json')
      expect(body.choices[0]?.message.content === words).toBe(true)
    }
  })
})

/** A listener whose only answer is longer than any socket buffer; `cut` is called with each lost connection. */
const open = (idleSeconds: number, cut = () => {}) =>
  listen(
    ANYWHERE,
    async (request) => {
      request.signal.addEventListener('abort', cut)
      await Bun.sleep(0)
      return new Response(toBody(['a'.repeat(LENGTH), 'the end'], null))
    },
    idleSeconds,
  )

test('a server that stops waits while a client reads the rest', async () => {
  const listener = open(60)
  const client = dial(listener.url)
  client.socket.on('data', () => {
    client.socket.pause()
    setTimeout(() => client.socket.resume(), 1)
  })
  client.send(REQUEST)
  await eventually(() => client.received.length > 0, 'the answer begins')
  expect(client.received).not.toContain('the end')
  await listener.close()
  await eventually(() => client.closed, 'the connection is closed')
  expect(client.received).toContain('the end')
})

test('a client that reads nothing is disconnected', async () => {
  const { promise: cut, resolve } = Promise.withResolvers<void>()
  const listener = open(1, resolve)
  const client = dial(listener.url)
  client.send(REQUEST)
  await eventually(() => client.received.length > 0, 'the answer begins')
  client.socket.pause()
  await cut
  client.socket.resume()
  await eventually(() => client.closed, 'the connection is closed')
  expect(client.received).not.toContain('the end')
  await listener.close()
})

test('a client that disconnects in the middle does no harm', async () => {
  const listener = open(60)
  for (let i = 0; i < 5; i++) {
    const client = dial(listener.url)
    client.send(REQUEST)
    await eventually(() => client.received.length > 0, 'the answer begins')
    client.hangUp()
  }
  const whole = await fetch(listener.url)
  expect((await whole.text()).length).toBe(LENGTH + 'the end'.length)
  await listener.close()
})
