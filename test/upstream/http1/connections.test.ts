// Connection reuse: which connection serves which request, and when one is closed instead of kept.
import { describe, expect, test } from 'vitest'
import { countIdle } from '#upstream/http1/exchange.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collectFolded, provider as named } from '../fixtures.ts'
import { answer, answerAll, exchange, post, type RawLine, startRaw, until } from './raw-provider.ts'

const CHAT = JSON.stringify({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] })
const asks = (url: URL) => collectFolded(openUpstream(named(`${url.origin}/v1`), null).ask(call()))

test('the request line and headers are exactly these', async () => {
  const seen: (string | null)[] = []
  const provider = await startRaw(async ({ request, socket }) => {
    seen.push(await request())
    socket.write(answer())
  })
  provider.url.search = '?a=b c'
  await exchange(provider, { headers: { accept: 'x/y', 'x-a': '' }, body: '{"ж":1}' })
  expect(seen).toEqual([
    `POST /v1/chat?a=b%20c HTTP/1.1\r\nhost: ${provider.url.host}\r\nconnection: keep-alive\r\n` +
      `content-length: 8\r\naccept: x/y\r\nx-a: \r\n\r\n${Buffer.from('{"ж":1}').toString('latin1')}`,
  ])
})

test('sequential requests share a connection; the one used last is reused first', async () => {
  const served: number[] = []
  const provider = await startRaw(async ({ request, socket, n }) => {
    while ((await request()) !== null) {
      served.push(n)
      socket.write(answer())
    }
  })
  for (let i = 0; i < 5; i++) await exchange(provider)
  expect(served.splice(0)).toEqual([0, 0, 0, 0, 0])
  await Promise.all(Array.from({ length: 10 }, () => exchange(provider)))
  expect(provider.lines).toHaveLength(10)
  expect(countIdle(provider.url.origin)).toBe(10)
  served.length = 0
  for (let i = 0; i < 5; i++) await exchange(provider)
  expect(new Set(served).size).toBe(1)
})

test('two thousand concurrent requests each use a connection of their own, and again the same ones', async () => {
  const waiting: RawLine['socket'][] = []
  const crowd = 2_000
  const provider = await startRaw(async ({ request, socket }) => {
    while ((await request()) !== null) {
      waiting.push(socket)
      // No request is answered before all have been sent.
      if (waiting.length === crowd) for (const each of waiting.splice(0)) each.write(answer('hi'))
    }
  })
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(Array.from({ length: crowd }, () => exchange(provider)))
    expect(answers.every((text) => text === 'hi')).toBe(true)
  }
  // At most 1,024 idle connections are kept.
  expect(provider.lines).toHaveLength(crowd + crowd - 1_024)
  expect(countIdle(provider.url.origin)).toBe(1_024)
})

describe('a connection is not kept', () => {
  test.each([
    ['when the provider sends connection: close', answer('a', 'connection: close\r\n')],
    ['when it speaks an old dialect', answer('a').replace('1.1', '1.0')],
    ['when it would hang up within a second', answer('a', 'keep-alive: timeout=1\r\n')],
  ])('%s', async (_, text) => {
    const provider = await startRaw(answerAll(text))
    for (let i = 0; i < 3; i++) await exchange(provider)
    expect(provider.lines).toHaveLength(3)
    await until(() => provider.open === 0)
  })

  test('after the keep-alive time that the provider named', async () => {
    const provider = await startRaw(answerAll(answer('a', 'keep-alive: timeout=2\r\n')))
    await exchange(provider)
    expect(countIdle(provider.url.origin)).toBe(1)
    await until(() => provider.open === 0)
    expect(countIdle(provider.url.origin)).toBe(0)
    await exchange(provider)
    expect(provider.lines).toHaveLength(2)
  })

  test('after that time, even when its timer has not yet run', async () => {
    const provider = await startRaw(answerAll(answer('a', 'keep-alive: timeout=2\r\n')))
    await exchange(provider)
    Bun.sleepSync(1_050)
    await exchange(provider)
    expect(provider.lines).toHaveLength(2)
  })

  test('when the provider closes it', async () => {
    const provider = await startRaw(async ({ request, socket }) => {
      await request()
      socket.write(answer())
      setTimeout(() => socket.end(), 10)
    })
    await exchange(provider)
    await until(() => countIdle(provider.url.origin) === 0)
    await exchange(provider)
    expect(provider.lines).toHaveLength(2)
  })
})

test('a request for a new connection reuses no idle one, and its connection is kept only when none is idle', async () => {
  const provider = await startRaw(answerAll())
  for (let i = 0; i < 3; i++) await exchange(provider, { fresh: true })
  expect(provider.lines).toHaveLength(3)
  expect(countIdle(provider.url.origin)).toBe(1)
  await until(() => provider.open === 1)
  await exchange(provider)
  expect(provider.lines).toHaveLength(3)
})

test('a reused connection that breaks during a request: the request is sent once more, on a new one', async () => {
  const provider = await startRaw(async ({ request, socket, n }) => {
    await request()
    socket.write(answer(CHAT))
    if (n > 1) return
    await request()
    socket.destroy()
  })
  // Two are idle, and both will break; the second attempt must not use the other one.
  await Promise.all([asks(provider.url), asks(provider.url)])
  expect(await asks(provider.url)).toMatchObject({ text: 'hi', failure: null })
  expect(provider.lines).toHaveLength(3)
})

test('a provider that closes after 20 ms of idle time fails none of a thousand requests', async () => {
  const provider = await startRaw(async ({ request, socket }) => {
    let idle: ReturnType<typeof setTimeout> | undefined
    while ((await request()) !== null) {
      clearTimeout(idle)
      socket.write(answer(CHAT))
      idle = setTimeout(() => socket.destroy(), 20)
    }
  })
  let failures = 0
  const ask = async (seed: number): Promise<void> => {
    for (let i = 0; i < 50; i++) {
      const { text, failure } = await asks(provider.url)
      if (text !== 'hi' || failure !== null) failures++
      await new Promise((resolve) => setTimeout(resolve, 17 + ((seed + i) % 6)))
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, seed) => ask(seed)))
  expect(failures).toBe(0)
})

test('two providers at one address share its connections; another port does not', async () => {
  const one = await startRaw(answerAll())
  const two = await startRaw(answerAll())
  await exchange(one)
  await exchange({ url: new URL('/elsewhere', one.url) })
  await exchange(two)
  expect([one.lines.length, two.lines.length]).toEqual([1, 1])
})

test('IPv6 addresses work, where the machine has IPv6', async () => {
  const server = Bun.listen({
    hostname: '::1',
    port: 0,
    socket: { data: (socket) => void socket.write(answer('six')) },
  })
  const reply = exchange({ url: new URL(`http://[::1]:${server.port}/`) })
  await expect(reply).resolves.toBe('six')
  server.stop(true)
})

test('a host name is resolved, and an unknown one is an error', async () => {
  const provider = await startRaw(answerAll(answer('hi')))
  provider.url.hostname = 'localhost'
  expect(await exchange(provider)).toBe('hi')
  await expect(post({ url: new URL('http://nowhere.invalid/') })).rejects.toMatchObject({
    code: 'ENOTFOUND',
  })
})
