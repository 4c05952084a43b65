// The connection to a provider: what is sent, when it is released, time-outs, and transport errors.

import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ChatEvents } from '#domain/chat.ts'
import { UpstreamFailure } from '#domain/upstream.ts'
import { JsonBody } from '#http/read/body.ts'
import { openBlackHole } from '#test/support/black-hole.ts'
import { openUpstream } from '#upstream/registry.ts'
import {
  type CallOptions,
  call,
  chunk,
  collect,
  collectFolded,
  provider,
  request,
  type Socket,
  sse,
  startProvider,
} from './fixtures.ts'
import { startRaw, until as untilSo } from './http1/raw-provider.ts'

let socket: Socket

const serve = async (answer: (response: ServerResponse, n: number) => void | Promise<void>) => {
  socket = await startProvider(answer)
}
afterEach(() => socket?.stop())

const streaming = request({ stream: true }, { stream: true })
const open = (options: CallOptions = {}): Promise<AsyncIterable<ChatEvents>> =>
  openUpstream(provider(`${socket.url}/v1`), 'sk-secret').ask(
    call({ request: streaming, ...options }),
  )
const asStream = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })
const asJson = (response: ServerResponse, body: string | object, status = 200, headers = {}) =>
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body))
const ANSWER = { choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] }
const COMPLETE = sse(chunk({ content: 'hi' }, {}, 'stop'), '[DONE]')

/** Waits until more may be written, or the reader has gone. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.on('drain', done).on('close', done)
  })

const withinMs = async (promise: Promise<unknown>, ms: number): Promise<void> => {
  const startedMs = performance.now()
  await promise
  expect(performance.now() - startedMs).toBeLessThan(ms)
}

describe('what is sent', () => {
  test('T28: headers contain only what the gateway sets', async () => {
    await serve((response) => void asJson(response, ANSWER))
    await collect(open({ request: request() }))
    const { headers, path } = socket.seen[0]!
    expect(path).toBe('/v1/chat/completions')
    expect(headers).toEqual({
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'gatewayctl/0.0.0-test',
      'x-request-id': 'req_test',
      authorization: 'Bearer sk-secret',
      connection: 'keep-alive',
      host: socket.url.slice('http://'.length),
      'content-length': expect.any(String),
    })
  })

  test("a long body is sent as the client's own text while that is kept, for each attempt", async () => {
    await serve((response, n) => void asJson(response, ANSWER, n === 0 ? 503 : 200))
    const messages = [{ role: 'user', content: 'a "b"\n'.padEnd(20_000, 'c') }]
    const text = JSON.stringify({ model: 'acme/model-9', messages }, null, 2)
    const source = new JsonBody(text)
    const long = request(source.exact, { source })
    await expect(open({ request: long })).rejects.toMatchObject({ kind: 'failed' })
    await collect(open({ request: long }))
    await collect(open({ request: request(source.whole()) }))
    const bytes = socket.seen.map(({ headers }) => Number(headers['content-length']))
    expect(bytes[0]).toBe(bytes[1])
    expect(bytes[0]).toBeGreaterThan(bytes[2] ?? 0)
    for (const { body } of socket.seen) expect(body).toEqual({ model: 'model-9', messages })
  })

  test('T29: a redirect is not followed', async () => {
    await serve((response, n) => {
      if (n === 0) response.writeHead(307, { location: `${socket.url}/elsewhere` }).end()
      else asJson(response, ANSWER)
    })
    await expect(open()).rejects.toMatchObject({ kind: 'failed', details: { status: 307 } })
    expect(socket.seen).toHaveLength(1)
  })

  test('the connection is reused for the next request, after a body and after a stream', async () => {
    const ports = new Set<number | undefined>()
    let over = Promise.withResolvers<void>()
    await serve((response, n) => {
      ports.add(response.socket?.remotePort)
      response.on('finish', () => over.resolve())
      if (n % 2) {
        asJson(response, ANSWER)
        return
      }
      // As on a real network, the end of the body follows a little after the end of the answer.
      asStream(response).write(COMPLETE)
      setTimeout(() => response.end(), 20)
    })
    for (let i = 0; i < 6; i++) {
      over = Promise.withResolvers()
      const answer = await collectFolded(open({ request: i % 2 ? request() : streaming }))
      expect(answer.text).toBe('hi')
      await over.promise
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(ports.size).toBe(1)
  })

  test('a connection that the provider keeps open after [DONE] is closed, and nothing waits for it', async () => {
    await serve((response) => void asStream(response).write(COMPLETE))
    const collecting = collectFolded(open())
    await withinMs(collecting, 500)
    expect((await collecting).failure).toBeNull()
    await withinMs(socket.aborted(), 2_000)
  })
})

describe('the Content-Type decides how an answer is parsed', () => {
  test('one JSON body for a requested stream', async () => {
    await serve((response) => void asJson(response, ANSWER))
    expect(await collectFolded(open())).toMatchObject({ text: 'hi', failure: null })
  })

  test('a stream that was not requested', async () => {
    await serve((response) => void asStream(response).end(COMPLETE))
    const answer = await collectFolded(open({ request: request() }))
    expect(answer).toMatchObject({ text: 'hi', failure: null })
  })

  test.each([
    ['an empty body', '', 'application/json'],
    ['broken JSON', '{"choices":[', 'application/json'],
    ['a page', '<html>welcome</html>', 'text/html'],
    ['a page called a stream', '<html>welcome</html>', 'text/event-stream'],
    ['an empty stream', '', 'text/event-stream'],
    ['nothing at all', '', 'text/plain'],
  ])('%s is a failure', async (_, body, type) => {
    await serve((response) => void response.writeHead(200, { 'content-type': type }).end(body))
    for (const asked of [streaming, request()]) {
      const { failure } = await collect(open({ request: asked }))
      expect(failure).toBeInstanceOf(UpstreamFailure)
      expect(failure).toMatchObject({ kind: 'failed' })
    }
  })

  test('a whole body in many pieces', async () => {
    const text = 'é'.repeat(100_000)
    await serve(async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const bytes = Buffer.from(JSON.stringify({ choices: [{ message: { content: text } }] }))
      for (let at = 0; at < bytes.length; at += 9_999)
        response.write(bytes.subarray(at, at + 9_999))
      response.end()
    })
    expect((await collectFolded(open({ request: request() }))).text).toBe(text)
  })

  test('a whole body in many tiny pieces, split within characters, after a byte order mark', async () => {
    const text = 'é家𝄞'.repeat(500)
    const body = { choices: [{ message: { content: text }, finish_reason: 'stop' }] }
    const bytes = Buffer.from(`\ufeff${JSON.stringify(body)}`)
    await serve(async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      for (let at = 0; at < bytes.length; at++) {
        response.write(bytes.subarray(at, at + 1))
        await new Promise(setImmediate)
      }
      response.end()
    })
    expect((await collectFolded(open({ request: request() }))).text).toBe(text)
  })

  test('T36: a body beyond 64 MiB is aborted', async () => {
    await serve(async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const piece = Buffer.alloc(1_048_576, ' ')
      while (!response.destroyed) {
        if (!response.write(piece)) await drained(response)
      }
    })
    const { failure } = await collect(open({ request: request() }))
    expect(failure).toMatchObject({ kind: 'failed', message: 'its answer is larger than 64 MiB' })
    await socket.aborted()
  })
})

describe('error statuses', () => {
  test("are returned with the provider's message and Retry-After", async () => {
    await serve((response) => {
      asJson(response, { error: { message: 'slow down', code: 'busy' } }, 429, {
        'retry-after': '9',
      })
    })
    await expect(open()).rejects.toMatchObject({
      kind: 'overloaded',
      message: 'slow down',
      details: { status: 429, providerCode: 'busy', retryAfterSeconds: 9 },
    })
  })

  test('T36: an endless error body is read up to 64 KiB', async () => {
    await serve(async (response) => {
      response.writeHead(500, { 'content-type': 'text/plain' })
      while (!response.destroyed) {
        if (!response.write('x'.repeat(65_536))) {
          await drained(response)
        }
      }
    })
    await expect(open()).rejects.toMatchObject({ kind: 'failed', message: 'x'.repeat(1_000) })
    await socket.aborted()
  })
})

describe('a client that disconnects aborts the provider request', () => {
  const gone = new Error('the client has left')

  test('before the first byte', async () => {
    await serve(() => {})
    const client = new AbortController()
    const leaving = expect(open({ signal: client.signal })).rejects.toBe(gone)
    while (socket.seen.length === 0) await new Promise(setImmediate)
    client.abort(gone)
    await withinMs(socket.aborted(), 1_000)
    await leaving
    expect(socket.seen).toHaveLength(1)
  })

  test('before it was sent', async () => {
    await serve(() => {})
    await expect(open({ signal: AbortSignal.abort(gone) })).rejects.toBe(gone)
    expect(socket.seen).toHaveLength(0)
  })

  test('between two chunks', async () => {
    await serve((response) => void asStream(response).write(sse(chunk({ content: 'a' }))))
    const client = new AbortController()
    const reader = (await open({ signal: client.signal }))[Symbol.asyncIterator]()
    expect((await reader.next()).done).toBe(false)
    const leaving = expect(reader.next()).rejects.toBe(gone)
    client.abort(gone)
    await withinMs(socket.aborted(), 1_000)
    await leaving
    expect((await reader.next()).done).toBe(true)
  })

  test('after the last content, before the provider has ended the stream', async () => {
    await serve(
      (response) => void asStream(response).write(sse(chunk({ content: 'a' }, {}, 'stop'))),
    )
    const client = new AbortController()
    const collecting = collect(open({ signal: client.signal }))
    while (socket.seen.length === 0) await new Promise(setImmediate)
    setTimeout(() => client.abort(gone), 50)
    expect((await collecting).failure).toBe(gone)
    await withinMs(socket.aborted(), 1_000)
  })

  test('in the middle of a whole body', async () => {
    await serve((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices":')
    })
    const client = new AbortController()
    const collecting = collect(open({ request: request(), signal: client.signal }))
    setTimeout(() => client.abort(gone), 50)
    expect((await collecting).failure).toBe(gone)
    await withinMs(socket.aborted(), 1_000)
  })

  test('while nothing is being read: by return()', async () => {
    await serve((response) => void asStream(response).write(sse(chunk({ content: 'a' }))))
    for await (const _ of await open()) break
    await withinMs(socket.aborted(), 1_000)
  })

  test('while nothing is being read: by the signal, before the answer has begun', async () => {
    await serve((response) => void asStream(response).write(sse(chunk({ content: 'a' }))))
    const client = new AbortController()
    await open({ signal: client.signal })
    client.abort(gone)
    await withinMs(socket.aborted(), 1_000)
  })

  test('and return() does not wait for a silent provider', async () => {
    await serve((response) => void asStream(response).write(sse(chunk({ content: 'a' }))))
    const reader = (await open())[Symbol.asyncIterator]()
    await reader.next()
    const waiting = reader.next().catch(() => 'ended')
    await withinMs(reader.return!(), 1_000)
    await withinMs(socket.aborted(), 1_000)
    await waiting
  })
})

describe('time-outs', () => {
  const late = { kind: 'timeout' }

  test('no first byte', async () => {
    await serve(() => {})
    const timeouts = { firstByteTimeoutMs: 60 }
    await withinMs(expect(open({ timeouts })).rejects.toMatchObject(late), 1_000)
    await withinMs(socket.aborted(), 1_000)
    expect(socket.seen).toHaveLength(1)
  })

  test('no connection: the kernel drops the SYN', async () => {
    const hole = await openBlackHole()
    onTestFinished(() => hole.close())
    const timeouts = { connectTimeoutMs: 200 }
    const opening = openUpstream(provider(`${hole.url}/v1`), null).ask(call({ timeouts }))
    const unreached = { ...late, message: 'it could not be reached in time' }
    await withinMs(expect(opening).rejects.toMatchObject(unreached), 1_000)
  })

  test('a request counts as sent once a connection has accepted it, not before', async () => {
    const hole = await openBlackHole()
    onTestFinished(() => hole.close())
    const mute = await startRaw(() => {})
    const deaf = await startRaw(() => {})
    const askAndLeave = async (url: string, isReached: () => boolean): Promise<boolean> => {
      const leaving = new AbortController()
      const asking = call({ signal: leaving.signal })
      const opening = openUpstream(provider(`${url}/v1`), null).ask(asking)
      await untilSo(isReached)
      leaving.abort()
      await expect(opening).rejects.toMatchObject({ name: 'AbortError' })
      return asking.sending.isSent
    }
    expect(await askAndLeave(hole.url, () => true)).toBe(false)
    const tls = `https://localhost:${mute.url.port}`
    expect(await askAndLeave(tls, () => mute.lines.length === 1)).toBe(false)
    let request: string | null = null
    const hears = async () => {
      request ??= (await deaf.lines[0]?.request()) ?? null
    }
    expect(
      await askAndLeave(deaf.url.origin, () => {
        void hears()
        return request !== null
      }),
    ).toBe(true)
  })

  test('a request that an idle connection lost counts as not sent until it is sent again', async () => {
    let sockets = 0
    const closing = await startRaw(async ({ request, socket: line }) => {
      sockets++
      await request()
      line.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${JSON.stringify(ANSWER).length}\r\n\r\n${JSON.stringify(ANSWER)}`,
      )
      await request()
      // Nobody is there when it is sent once more.
      closing.stopListening()
      line.destroy()
    })
    const ask = () => {
      const asking = call()
      const opening = openUpstream(provider(`${closing.url.origin}/v1`), null).ask(asking)
      return { asking, opening }
    }
    const first = ask()
    await collect(first.opening)
    expect(first.asking.sending.isSent).toBe(true)
    const second = ask()
    await expect(second.opening).rejects.toMatchObject({ kind: 'failed' })
    expect([sockets, second.asking.sending.isSent]).toEqual([1, false])
  })

  test('an incomplete TLS handshake counts as no connection', async () => {
    const mute = await startRaw(() => {})
    const timeouts = { connectTimeoutMs: 200 }
    const url = `https://localhost:${mute.url.port}/v1`
    const opening = openUpstream(provider(url), null).ask(call({ timeouts }))
    const unreached = { ...late, message: 'it could not be reached in time' }
    await withinMs(expect(opening).rejects.toMatchObject(unreached), 1_000)
    await untilSo(() => mute.lines.length === 1 && mute.open === 0)
  })

  test('once connected, the connect time-out no longer applies', async () => {
    await serve(async (response) => {
      await new Promise((r) => setTimeout(r, 200))
      asJson(response, ANSWER)
    })
    const timeouts = { connectTimeoutMs: 50 }
    // On a new connection, and again on the same one.
    for (let i = 0; i < 2; i++) {
      expect(await collectFolded(open({ timeouts }))).toMatchObject({ text: 'hi', failure: null })
    }
  })

  test('the first byte has its own time-out, whether or not the connection was new', async () => {
    const hole = await openBlackHole()
    onTestFinished(() => hole.close())
    const timeouts = { firstByteTimeoutMs: 60 }
    const opening = openUpstream(provider(`${hole.url}/v1`), null).ask(call({ timeouts }))
    await withinMs(expect(opening).rejects.toMatchObject(late), 1_000)
  })

  test('a head without a body', async () => {
    await serve((response) => void asStream(response).flushHeaders())
    const { failure } = await collect(open({ timeouts: { firstByteTimeoutMs: 60 } }))
    expect(failure).toMatchObject(late)
    await withinMs(socket.aborted(), 1_000)
  })

  test('no data between chunks, in a stream and in a body', async () => {
    await serve((response) => void asStream(response).write(sse(chunk({ content: 'a' }))))
    const { failure, text } = await collectFolded(open({ timeouts: { silenceTimeoutMs: 60 } }))
    expect(failure).toMatchObject(late)
    expect(text).toBe('a')
    await withinMs(socket.aborted(), 1_000)
  })

  test('a provider that keeps sending is only bounded by the total time-out', async () => {
    await serve(async (response) => {
      asStream(response)
      while (!response.destroyed) {
        response.write(sse(chunk({ content: 'a' })))
        await new Promise((r) => setTimeout(r, 20))
      }
    })
    const timeouts = { firstByteTimeoutMs: 500, silenceTimeoutMs: 500, totalTimeoutMs: 1_500 }
    const startedMs = performance.now()
    const { failure, text } = await collectFolded(open({ timeouts }))
    expect(failure).toMatchObject(late)
    expect(performance.now() - startedMs).toBeGreaterThan(1_450)
    expect(text.length).toBeGreaterThan(5)
  })

  test("a slow reader does not count as the provider's silence", async () => {
    await serve(async (response) => {
      asStream(response).write(sse(chunk({ content: 'a' })))
      await new Promise((r) => setTimeout(r, 20))
      response.end(COMPLETE)
    })
    let text = ''
    for await (const batch of await open({ timeouts: { silenceTimeoutMs: 100 } })) {
      for (const event of batch) if (event.type === 'text-delta') text += event.text
      await new Promise((r) => setTimeout(r, 250))
    }
    expect(text).toBe('ahi')
  })

  test('a complete answer whose provider does not end it is complete', async () => {
    await serve(
      (response) => void asStream(response).write(sse(chunk({ content: 'a' }, {}, 'stop'))),
    )
    const answer = await collectFolded(open({ timeouts: { silenceTimeoutMs: 60 } }))
    expect(answer).toMatchObject({ text: 'a', failure: null, finish: [{ reason: 'stop' }] })
    await withinMs(socket.aborted(), 1_000)
  })

  test('an error whose body never arrives is reported by its status', async () => {
    await serve((response) => void response.writeHead(503).flushHeaders())
    const opening = open({ timeouts: { firstByteTimeoutMs: 200 } })
    await expect(opening).rejects.toMatchObject({ kind: 'failed', details: { status: 503 } })
  })
})

describe('a connection that breaks', () => {
  test('before any byte, when it was idle before: the request is sent once more', async () => {
    await serve((response, n) => {
      if (n === 1) response.destroy()
      else asJson(response, ANSWER)
    })
    await collectFolded(open())
    expect((await collectFolded(open())).text).toBe('hi')
    expect(socket.seen).toHaveLength(3)
    expect(socket.seen[2]).toEqual(socket.seen[1])
  })

  test('a second time: the request is not sent a third time', async () => {
    await serve((response, n) => {
      if (n === 0) asJson(response, ANSWER)
      else response.destroy()
    })
    await collectFolded(open())
    await expect(open()).rejects.toMatchObject({
      kind: 'failed',
      message: 'the connection broke off',
    })
    expect(socket.seen).toHaveLength(3)
  })

  test('when it was new: the request is not sent again here, the attempt fails', async () => {
    await serve((response) => void response.destroy())
    await expect(open()).rejects.toMatchObject({ kind: 'failed' })
    expect(socket.seen).toHaveLength(1)
  })

  test.each([
    ['exactly one attempt', { allowFallbacks: false }],
    ['an image', { wantsImages: true }],
  ])(
    'for a request with %s: only a new connection is used, never one that may be closing',
    async (_, wish) => {
      await serve((response, n) => {
        if (n === 1) response.destroy()
        else asJson(response, ANSWER)
      })
      await collectFolded(open())
      const once = request({}, wish)
      await expect(open({ request: once })).rejects.toMatchObject({ kind: 'failed' })
      expect(socket.seen).toHaveLength(2)
    },
  )

  test('after the first byte of the answer: the request is not sent again', async () => {
    await serve((response) => {
      asStream(response).write(sse(chunk({ content: 'a' })))
      setTimeout(() => response.destroy(), 20)
    })
    const { failure, text } = await collectFolded(open())
    expect(failure).toMatchObject({ kind: 'failed', message: 'the connection broke off' })
    expect(text).toBe('a')
    expect(socket.seen).toHaveLength(1)
  })

  test('after the last content: the answer is complete', async () => {
    await serve((response) => {
      asStream(response).write(sse(chunk({ content: 'a' }, {}, 'stop')))
      setTimeout(() => response.destroy(), 20)
    })
    expect(await collectFolded(open())).toMatchObject({ text: 'a', failure: null })
  })

  test('because it was refused: the request is not sent again', async () => {
    const failure = await openUpstream(provider('http://127.0.0.1:1/v1'), null)
      .ask(call())
      .catch((thrown) => thrown)
    expect(failure).toMatchObject({ kind: 'failed', message: 'it refused the connection' })
    expect(JSON.stringify({ ...failure, text: String(failure.stack) })).not.toContain(
      '127.0.0.1:1/',
    )
  })

  test('because the name does not resolve: the attempt fails', async () => {
    const opening = openUpstream(provider('http://nowhere.invalid/v1'), null).ask(call())
    await expect(opening).rejects.toMatchObject({ kind: 'failed' })
  })
})

test('a reader that stops takes no more from the provider than its buffers hold', async () => {
  let sentBytes = 0
  await serve(async (response) => {
    asStream(response)
    const piece = sse(chunk({ content: 'x'.repeat(65_536) }))
    for (let i = 0; i < 2_000 && !response.destroyed; i++) {
      sentBytes += piece.length
      if (!response.write(piece)) await drained(response)
    }
    response.end()
  })
  const reader = (await open())[Symbol.asyncIterator]()
  await reader.next()
  let before = -1
  while (before !== sentBytes) {
    before = sentBytes
    await new Promise((r) => setTimeout(r, 200))
  }
  expect(sentBytes).toBeLessThan(50_000_000)
  await reader.return!()
  await withinMs(socket.aborted(), 1_000)
})
