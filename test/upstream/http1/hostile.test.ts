// Providers that violate HTTP on real sockets: each costs one failure and one connection, and little memory.
import { expect, test } from 'vitest'
import { countIdle } from '#upstream/http1/exchange.ts'
import type { Reply } from '#upstream/reply.ts'
import { answer, exchange, post, type RawLine, readAll, startRaw, until } from './raw-provider.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`

/** Sends this to the first request, and then runs `then` on the connection. */
const say =
  (text: string, then?: (line: RawLine) => void) =>
  async (line: RawLine): Promise<void> => {
    if ((await line.request()) === null) return
    line.socket.write(text, () => then && setTimeout(() => then(line), 20))
  }
const finish = ({ socket }: RawLine): void => void socket.end()
const reset = ({ socket }: RawLine): void => void socket.resetAndDestroy()

test('an answer split by the network at every byte is read', async () => {
  const text = `HTTP/1.1 100 Continue\r\n\r\n${CHUNKED}3;x\r\nabc\r\n2\r\nde\r\n0\r\nt: u\r\n\r\n`
  const provider = await startRaw(async ({ request, socket }) => {
    socket.setNoDelay(true)
    for (let cut = 1; (await request()) !== null; cut++) {
      socket.write(text.slice(0, cut))
      await new Promise((resolve) => setTimeout(resolve, 2))
      socket.write(text.slice(cut))
    }
  })
  for (let cut = 1; cut < text.length; cut++) expect(await exchange(provider)).toBe('abcde')
  expect(provider.lines).toHaveLength(1)
})

test.each([
  ['an endless head', `${OK}x: ${'y'.repeat(100_000)}`],
  ['endless fields', `${OK}${'x: y\r\n'.repeat(20_000)}`],
  ['a head that is none', '220 mail.example ESMTP\r\n'],
  ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
])('%s: refused, and the connection is closed', async (_, text) => {
  const provider = await startRaw(say(text))
  await expect(post(provider)).rejects.toMatchObject({ kind: 'failed' })
  await until(() => provider.open === 0)
})

test('a malformed chunk: the data before it is read, then the read fails, and the connection is closed', async () => {
  const provider = await startRaw(say(`${CHUNKED}2\r\nhi\r\n`, ({ socket }) => socket.write('no')))
  const reply = await post(provider)
  expect(Buffer.from((await reply.read()).value ?? []).toString()).toBe('hi')
  await expect(reply.read()).rejects.toMatchObject({ kind: 'failed' })
  await expect(reply.read()).rejects.toMatchObject({ kind: 'failed' })
  await until(() => provider.open === 0)
})

test.each([
  ['a length', `${OK}content-length: 9\r\n\r\nsome`],
  ['chunks', `${CHUNKED}4\r\nsome\r\n`],
  ['chunks, before the last line end', `${CHUNKED}4\r\nsome\r\n0\r\n`],
])('a body of %s that breaks off is never treated as complete', async (_, text) => {
  for (const then of [finish, reset]) {
    const reply = await post(await startRaw(say(text, then)))
    await expect(readAll(reply)).rejects.toMatchObject({
      kind: 'failed',
      message: 'the connection broke off',
    })
  }
})

test('a body that ends with its connection is complete when that is closed, not when it is reset', async () => {
  const text = `${OK}content-type: text/plain\r\n\r\nsome`
  expect(await exchange(await startRaw(say(text, finish)))).toBe('some')
  await expect(exchange(await startRaw(say(text, reset)))).rejects.toMatchObject({
    kind: 'failed',
  })
})

test('only a reused idle connection that closes without a byte may be retried', async () => {
  const silent = { code: 'ECONNRESET' }
  const spoken = { kind: 'failed', message: 'the connection broke off' }
  for (const then of [finish, reset]) {
    await expect(post(await startRaw(say('', then)))).rejects.toMatchObject(spoken)
    const rested = (text: string) => failAfterRest(text, then)
    await expect(rested('')).rejects.toMatchObject(silent)
    await expect(rested('H')).rejects.toMatchObject(spoken)
    await expect(rested('HTTP/1.1 100 Continue\r\n\r\n')).rejects.toMatchObject(spoken)
  }
})

/** A first exchange that succeeds, and a second on the same connection that fails. */
async function failAfterRest(text: string, then: (line: RawLine) => void): Promise<Reply> {
  const provider = await startRaw(async (line) => {
    await line.request()
    line.socket.write(answer())
    await say(text, then)(line)
  })
  await exchange(provider)
  return await post(provider)
}

test('bytes after an answer: the answer is valid, the connection is closed', async () => {
  const provider = await startRaw(say(`${answer('one')}${answer('forged')}`))
  expect(await exchange(provider)).toBe('one')
  await until(() => provider.open === 0)
  expect(countIdle(provider.url.origin)).toBe(0)
})

test('bytes on an idle connection: it is closed, and they answer no request', async () => {
  const provider = await startRaw(
    say(answer('one'), ({ socket }) => socket.write(answer('forged'))),
  )
  expect(await exchange(provider)).toBe('one')
  expect(countIdle(provider.url.origin)).toBe(1)
  await until(() => provider.open === 0)
  expect(countIdle(provider.url.origin)).toBe(0)
})

test('bytes on an idle connection while its next request waits to be written: it may be asked again', async () => {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<RawLine>()
  const provider = await startRaw(async (line) => {
    await line.request()
    await first.promise
    line.socket.write(answer('one'))
    if ((await line.request()) !== null) second.resolve(line)
  })
  const both = [exchange(provider), exchange(provider)]
  await until(() => provider.lines.length === 2)
  first.resolve()
  await Promise.all(both)
  await until(() => countIdle(provider.url.origin) === 2)
  const asked = post(provider)
  const answering = await second.promise
  const idle = provider.lines.find((line) => line !== answering)
  // Both arrive in one turn: the head of the one lets the next request take the other connection.
  answering.socket.write(`${OK}content-length: 9\r\n\r\n`)
  idle?.socket.write(
    `HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
  )
  await asked
  await expect(post(provider)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('an answer before the request is sent: it is valid, and the connection is not reused', async () => {
  const provider = await startRaw(({ socket }) => {
    socket.pause()
    socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno')
  })
  const reply = await post(provider, { body: 'x'.repeat(30_000_000) })
  expect(reply.status).toBe(413)
  expect(await readAll(reply)).toBe('no')
  expect(countIdle(provider.url.origin)).toBe(0)
  provider.lines[0]?.socket.resume()
  await until(() => provider.open === 0)
})

test('a compressed answer is refused, but its status is reported', async () => {
  const provider = await startRaw(say(answer('zzz', 'content-encoding: gzip\r\n')))
  const reply = await post(provider)
  expect(reply.status).toBe(200)
  await expect(reply.read()).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('compressed'),
  })
  expect(await exchange(await startRaw(say(answer('hi', 'content-encoding: identity\r\n'))))).toBe(
    'hi',
  )
})

test('no header value can inject a second request', async () => {
  const provider = await startRaw(() => {})
  for (const value of ['a\r\nx: y', 'a\nb', 'a\0b', 'a\rb', 'é', 'ж']) {
    await expect(post(provider, { headers: { authorization: value } })).rejects.toMatchObject({
      kind: 'failed',
      message: 'the authorization header holds characters that cannot be sent',
    })
  }
  await expect(post(provider, { headers: { 'a b': 'c' } })).rejects.toMatchObject({
    kind: 'failed',
  })
  expect(provider.lines).toHaveLength(0)
})
