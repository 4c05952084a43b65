// Flow control in both directions, and aborts at any moment.
import { describe, expect, test } from 'vitest'
import { countIdle } from '#upstream/http1/exchange.ts'
import {
  answer,
  exchange,
  handControl,
  post,
  type RawLine,
  readAll,
  startRaw,
  until,
} from './raw-provider.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
const MEBIBYTE = 1_048_576

/** Bytes whose values depend on their position. */
const pattern = (bytes: number): Buffer => {
  const made = Buffer.alloc(bytes)
  for (let i = 0; i < bytes; i++) made[i] = (i * 31 + (i >> 8)) & 0xff
  return made
}

test('a request larger than the network accepts at once arrives whole', async () => {
  const body = 'Дом, 家, é and plain. '.repeat(700_000)
  const provider = await startRaw(async ({ request, socket }) => {
    socket.pause()
    setTimeout(() => socket.resume(), 100)
    for (let text = await request(); text !== null; text = await request()) {
      const seen = Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1')
      socket.write(answer(Bun.hash(seen).toString()))
    }
  })
  expect(await exchange(provider, { body })).toBe(Bun.hash(Buffer.from(body)).toString())
  // The connection can serve the next request, too.
  expect(await exchange(provider, { body: '{}' })).toBe(Bun.hash(Buffer.from('{}')).toString())
  expect(provider.lines).toHaveLength(1)
})

/** Writes a piece as soon as the other side has room for it, or returns when it has gone. */
async function write({ socket }: RawLine, bytes: Buffer): Promise<void> {
  if (socket.write(bytes) || socket.destroyed) return
  await new Promise<void>((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done)
      resolve()
    }
    socket.on('drain', done).on('close', done)
  })
}

/** Writes as fast as the other side reads. */
async function pour(line: RawLine, head: string, body: Buffer): Promise<void> {
  line.socket.write(head)
  for (let at = 0; at < body.length && !line.socket.destroyed; at += 65_536) {
    await write(line, body.subarray(at, at + 65_536))
  }
}

test('while nothing is read the provider is held back; then every byte arrives, in order', async () => {
  const body = pattern(64 * MEBIBYTE)
  const provider = await startRaw(async (line) => {
    await line.request()
    await pour(line, `${OK}content-length: ${body.length}\r\n\r\n`, body)
  })
  const reply = await post(provider)
  const { socket } = provider.lines[0] as RawLine
  let sent = -1
  while (sent !== socket.bytesWritten - socket.writableLength) {
    sent = socket.bytesWritten - socket.writableLength
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  // The kernel's buffers on both sides, and a few of ours.
  expect(sent).toBeLessThan(16 * MEBIBYTE)
  const taken = Buffer.alloc(body.length)
  let at = 0
  for (;;) {
    const { done, value } = await reply.read()
    if (done) break
    taken.set(value, at)
    at += value.length
  }
  expect(at).toBe(body.length)
  expect(taken.equals(body)).toBe(true)
  expect(countIdle(provider.url.origin)).toBe(1)
})

test('tiny chunks that are not read hold the provider back too', async () => {
  const chunk = Buffer.from(`1;${'x'.repeat(4_000)}\r\na\r\n`.repeat(16))
  let sentChunks = 0
  const provider = await startRaw(async (line) => {
    await line.request()
    line.socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`)
    for (; !line.socket.destroyed && sentChunks < 2_000; sentChunks++) await write(line, chunk)
  })
  const control = handControl()
  await post(provider, { control })
  let before = -1
  while (before !== sentChunks) {
    before = sentChunks
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(sentChunks * chunk.length).toBeLessThan(16 * MEBIBYTE)
  control.abort('enough')
  await until(() => provider.open === 0)
})

test('a piece uses no more memory than a small multiple of its size', async () => {
  const chunk = `1;${'x'.repeat(4_000)}\r\na\r\n`
  const provider = await startRaw(async ({ request, socket }) => {
    await request()
    socket.end(`${OK}transfer-encoding: chunked\r\n\r\n${chunk.repeat(100)}0\r\n\r\n`)
  })
  const reply = await post(provider)
  let bytes = 0
  for (let piece = await reply.read(); !piece.done; piece = await reply.read()) {
    bytes += piece.value.length
    expect(piece.value.buffer.byteLength).toBeLessThan(16_384)
  }
  expect(bytes).toBe(100)
})

test('pieces stay valid after the reader has taken them', async () => {
  const provider = await startRaw(async ({ request, socket }) => {
    await request()
    socket.setNoDelay(true)
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`)
    for (let i = 0; i < 200; i++) {
      const text = `${i}:`.padEnd(1_000, String.fromCharCode(97 + (i % 26)))
      socket.write(`3e8\r\n${text}\r\n`)
      if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    socket.write('0\r\n\r\n')
  })
  const text = await exchange(provider)
  const expected = Array.from({ length: 200 }, (_, i) =>
    `${i}:`.padEnd(1_000, String.fromCharCode(97 + (i % 26))),
  ).join('')
  expect(text).toBe(expected)
})

test('an answer that has arrived whole makes its connection idle before it is read', async () => {
  const provider = await startRaw(async ({ request, socket }) => {
    for (let n = 0; (await request()) !== null; n++) socket.write(answer(`answer ${n}`))
  })
  const first = await post(provider)
  await until(() => countIdle(provider.url.origin) === 1)
  const second = await post(provider)
  expect([await readAll(second), await readAll(first)]).toEqual(['answer 1', 'answer 0'])
  expect(provider.lines).toHaveLength(1)
})

describe('an abort', () => {
  const reason = new Error('enough')
  const isCut = (cut: unknown) => expect(Promise.resolve(cut)).rejects.toBe(reason)

  test('before the request began: no connection is opened', async () => {
    const provider = await startRaw(() => {})
    const control = handControl()
    control.abort(reason)
    await isCut(post(provider, { control }))
    expect(provider.lines).toHaveLength(0)
  })

  test('during the connect', async () => {
    const seen: (string | null)[] = []
    const provider = await startRaw(async ({ request }) => seen.push(await request()))
    const control = handControl()
    const opening = post(provider, { control })
    control.abort(reason)
    await isCut(opening)
    await until(() => provider.lines.length === 1 && provider.open === 0)
    expect(seen).toEqual([null])
  })

  test('during the TLS handshake', async () => {
    const provider = await startRaw(() => {})
    const control = handControl()
    const opening = post({ url: new URL(`https://localhost:${provider.url.port}/`) }, { control })
    await until(() => provider.open === 1)
    control.abort(reason)
    await isCut(opening)
    await until(() => provider.open === 0)
  })

  test('in the same turn in which the request would have been sent', async () => {
    const seen: (string | null)[] = []
    const provider = await startRaw(async ({ request, socket }) => {
      for (let text = await request(); text !== null; text = await request()) {
        seen.push(text)
        socket.write(answer())
      }
    })
    await Promise.all([exchange(provider), exchange(provider)])
    // While another is running: a single request is sent at once.
    const other = exchange(provider)
    const control = handControl()
    const opening = post(provider, { control })
    control.abort(reason)
    await isCut(opening)
    await other
    await until(() => provider.open === 1)
    expect(seen).toHaveLength(3)
  })

  test('while the request is being sent', async () => {
    const provider = await startRaw(({ socket }) => void socket.pause())
    const control = handControl()
    const opening = post(provider, { control, body: 'x'.repeat(32 * MEBIBYTE) })
    await until(() => provider.open === 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    control.abort(reason)
    await isCut(opening)
    provider.lines[0]?.socket.resume()
    await until(() => provider.open === 0)
  })

  test.each([
    ['before the head', ''],
    ['within the head', `${OK}content-le`],
  ])('%s', async (_, text) => {
    const provider = await startRaw(async ({ request, socket }) => {
      await request()
      socket.write(text)
    })
    const control = handControl()
    const opening = post(provider, { control })
    await until(() => provider.open === 1)
    await new Promise((resolve) => setTimeout(resolve, 30))
    control.abort(reason)
    await isCut(opening)
    await until(() => provider.open === 0)
    expect(countIdle(provider.url.origin)).toBe(0)
  })

  test('while the next piece is awaited, and on every read after it', async () => {
    const provider = await startRaw(async ({ request, socket }) => {
      await request()
      socket.write(`${OK}content-length: 9\r\n\r\nsome`)
    })
    const control = handControl()
    const reply = await post(provider, { control })
    expect((await reply.read()).done).toBe(false)
    const reading = reply.read()
    control.abort(reason)
    await isCut(reading)
    await isCut(reply.read())
    await until(() => provider.open === 0)
    expect(countIdle(provider.url.origin)).toBe(0)
  })

  test('while the provider is held back', async () => {
    const body = Buffer.alloc(32 * MEBIBYTE)
    const provider = await startRaw(async (line) => {
      await line.request()
      await pour(line, `${OK}content-length: ${body.length}\r\n\r\n`, body)
    })
    const control = handControl()
    const reply = await post(provider, { control })
    await new Promise((resolve) => setTimeout(resolve, 100))
    control.abort(reason)
    await until(() => provider.open === 0)
    await isCut(reply.read())
  })

  test('after the end: the connection, which already serves another request, is left alone', async () => {
    const provider = await startRaw(async ({ request, socket }) => {
      await request()
      socket.write(answer('one'))
      await request()
      setTimeout(() => socket.write(answer('two')), 50)
    })
    const control = handControl()
    const first = await post(provider, { control })
    await until(() => countIdle(provider.url.origin) === 1)
    const second = post(provider)
    control.abort(reason)
    await isCut(first.read())
    expect(await readAll(await second)).toBe('two')
  })
})
