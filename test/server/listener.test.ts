// The HTTP listener over real sockets: malformed request lines, chunked bodies, keep-alive, and the admin socket.
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGateway } from '#server/gateway.ts'
import { listen } from '#server/listener.ts'
import { hello } from '#test/support/furnish.ts'
import { dial, head, post } from '#test/support/raw-client.ts'
import { eventually, never } from '#test/support/scripted-upstream.ts'
import { type Served, serve } from './serve.ts'

let s: Served
beforeAll(async () => {
  s = await serve(null)
})
afterAll(async () => {
  await s.gateway.stop(0)
  await s.deps.store.close()
})

/** Sends raw text and waits for the whole head and the JSON body after it, if any. */
async function exchange(request: string): Promise<{ status: number; code: string; head: string }> {
  const client = dial(s.gateway.url)
  client.send(request)
  await eventually(
    () => client.closed || /\r\n\r\n(\{.*\})$/s.test(client.received),
    'an answer comes',
  )
  const [head = '', body = '{}'] = client.received.split('\r\n\r\n')
  client.hangUp()
  const parsed = JSON.parse(body === '' ? '{}' : body) as {
    error?: { code: string }
    status?: string
  }
  return {
    status: Number(head.slice(9, 12)),
    code: parsed.error?.code ?? parsed.status ?? '',
    head,
  }
}

describe('an untrustworthy request target is refused in JSON', () => {
  test.each([
    ['no Host at all', 'GET /healthz HTTP/1.0\r\n\r\n'],
    ['an empty Host', 'GET /healthz HTTP/1.1\r\nHost: \r\n\r\n'],
    ['a Host with spaces', 'GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['a Host with markup', 'GET /healthz HTTP/1.1\r\nHost: <a>\r\n\r\n'],
    ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['a port beyond all ports', 'GET /healthz HTTP/1.1\r\nHost: a:9999999\r\n\r\n'],
  ])('%s', async (_, request) => {
    expect(await exchange(request)).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test('an absolute-form target is routed by its path alone', async () => {
    const request = 'GET http://evil.example/healthz HTTP/1.1\r\nHost: a\r\n\r\n'
    expect(await exchange(request)).toMatchObject({ status: 200, code: 'ok' })
  })

  test.each([
    ['TRACE /v1/models', 405, 'method_not_allowed'],
    ['CONNECT a:80', 400, 'invalid_request'],
    ['GET //v1/models', 401, 'missing_api_key'],
    ['GET /v1//key/', 401, 'missing_api_key'],
    ['GET /healthz/', 200, 'ok'],
    ['POST /v1/models/', 405, 'method_not_allowed'],
    ['GET //nothing', 404, 'route_not_found'],
    ['GET /v1/models/../../etc/passwd', 404, 'route_not_found'],
  ])('%s', async (line, status, code) => {
    const answer = await exchange(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(answer).toMatchObject({ status, code })
    expect(answer.head.toLowerCase()).toContain('x-request-id: req_')
  })
})

test.each(['/healthz', '/v1/models', '/v1/key', '/v1/nothing', '/openapi.json'])(
  'HEAD %s is answered like GET, with the same length, and no body',
  async (path) => {
    const ask = async (method: string) => {
      const client = dial(s.gateway.url)
      const { Authorization } = s.key.bearer
      const fields = `Host: a\r\nAuthorization: ${Authorization}\r\nConnection: close`
      client.send(`${method} ${path} HTTP/1.1\r\n${fields}\r\n\r\n`)
      await eventually(() => client.closed, 'it is answered')
      const [head = '', body = ''] = client.received.split('\r\n\r\n')
      return { status: head.slice(9, 12), length: /content-length: (\d+)/i.exec(head)?.[1], body }
    }
    const { status, body } = await ask('GET')
    const length = String(Buffer.byteLength(body))
    expect(await ask('HEAD')).toEqual({ status, length, body: '' })
  },
)

describe('a body', () => {
  test('whose Content-Length is too large is refused before it is sent, in JSON', async () => {
    const request = post(
      '/v1/chat/completions',
      { ...s.key.bearer, 'Content-Length': '500000000' },
      '',
    )
    const { status, code, head } = await exchange(request)
    expect({ status, code }).toEqual({ status: 413, code: 'request_too_large' })
    expect(head.toLowerCase()).toContain('connection: close')
    expect(head.toLowerCase()).toContain('x-ratelimit-limit-minute: 100000')
  })

  test('of 34 MiB is taken and dropped, so that a client that sends before it reads has its refusal', async () => {
    const piece = Buffer.alloc(1024 * 1024, 0x20)
    for (let n = 0; n < 5; n++) {
      const client = dial(s.gateway.url)
      const errors: Error[] = []
      client.socket.on('error', (error) => errors.push(error))
      client.send(head('/v1/chat/completions', s.key.bearer, 34 * piece.length))
      for (let sent = 0; sent < 34; sent++) {
        if (!client.socket.write(piece) && !client.closed) {
          await new Promise<void>((resolve) => {
            client.socket.once('drain', resolve).once('close', () => resolve())
          })
        }
      }
      await eventually(() => client.closed, 'the connection is closed')
      expect(client.received).toMatch(/^HTTP\/1\.1 413 .*"request_too_large"/s)
      expect(errors).toEqual([])
    }
  })

  test('T37: that is chunked is counted against the maximum size', async () => {
    const piece = new Uint8Array(1024 * 1024).fill(32)
    let left = 40
    const response = await fetch(`${s.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...s.key.bearer },
      body: new ReadableStream({
        pull(controller) {
          if (left-- > 0) controller.enqueue(piece)
          else controller.close()
        },
      }),
    })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: 'request_too_large' } })
  })

  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const chunkedHead = (fields = {}) =>
    post('/v1/chat/completions', { ...s.key.bearer, ...fields }, '').replace(
      /Content-Length.*\r\n/,
      'Transfer-Encoding: chunked\r\n',
    )

  test('that is chunked is accepted', async () => {
    const [first, rest] = [JSON.stringify(hello()).slice(0, 9), JSON.stringify(hello()).slice(9)]
    expect(await exchange(chunkedHead() + chunk(first) + chunk(rest) + chunk(''))).toMatchObject({
      status: 200,
    })
  })

  test.each([
    ['that are announced', { Trailer: 'X-Sum' }],
    ['that nobody announced', {}],
  ])('with trailers %s is refused before anything is asked for it', async (_, fields) => {
    const before = s.lines.length
    const body = `${chunk(JSON.stringify(hello()))}0\r\nX-Sum: a\r\n\r\n`
    const client = dial(s.gateway.url)
    client.send(chunkedHead(fields) + body)
    await eventually(() => client.closed && s.lines.length > before, 'the request has ended')
    expect(client.received).toMatch(/^HTTP\/1\.1 400 /)
    expect(s.lines.slice(before)).toMatchObject([{ status: 400, generation_id: null }])
  })
})

test('responses on one connection do not get mixed up', async () => {
  const client = dial(s.gateway.url)
  const request = post('/v1/chat/completions', s.key.bearer, hello())
  for (let i = 1; i <= 3; i++) {
    client.send(request)
    await eventually(
      () => client.received.split('"chat.completion"').length === i + 1,
      `answer ${i}`,
    )
  }
  client.hangUp()
})

test('two requests at once on one connection: it is closed, and only the first one ran, like one whose client left', async () => {
  const before = s.lines.length
  const client = dial(s.gateway.url)
  const request = post(
    '/v1/chat/completions',
    s.key.bearer,
    hello({ messages: [{ role: 'user', content: 'word '.repeat(2_000) }], stream: true }),
  )
  client.send(request + request)
  await eventually(() => client.closed, 'the connection is closed')
  await eventually(() => s.lines.length > before, 'the first request has ended')
  await eventually(async () => (await s.inProgress()) === 0, 'nothing runs')
  expect(client.received).toBe('')
  expect(s.lines.slice(before).map(({ status }) => status)).toEqual([499])
  expect(await s.openHolds()).toBe(0)
})

test('only a request that waits for its answer may be idle for long; afterwards its connection has the usual idle time-out', async () => {
  const held: Request[] = []
  const listener = listen(
    { hostname: '127.0.0.1', port: 0 },
    async (request, connections) => {
      if (!request.url.endsWith('/held')) return await never
      held.push(request)
      connections.timeout(request, 0)
      await lost
      connections.timeout(request, 1)
      return new Response('late')
    },
    1,
  )
  const client = dial(listener.url)
  client.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
  const lost = fetch(`${listener.url}/not-held`).then(
    () => 'answered',
    () => 'cut',
  )
  expect(await lost).toBe('cut')
  await eventually(() => client.received.endsWith('late'), 'the held answer comes')
  await eventually(() => client.closed, 'the idle connection is closed')
  expect(held).toHaveLength(1)
  await listener.close()
})

test('who retires tells the clients that keep a connection to take another', async () => {
  const listener = listen({ hostname: '127.0.0.1', port: 0 }, ({ url }) => {
    if (url.endsWith('/fault')) throw new Error('a fault')
    return new Response('here')
  })
  const client = dial(listener.url)
  const ask = async (answers: number) => {
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const whole = () => client.received.split('here').length > answers
    await eventually(whole, `answer ${answers} comes`)
  }
  await ask(1)
  expect(client.received.toLowerCase()).not.toContain('connection: close')
  // Not waited for: it goes on for ten seconds.
  void listener.retire()
  await ask(2)
  expect(client.received.toLowerCase()).toContain('connection: close')
  const fault = await fetch(`${listener.url}/fault`)
  expect([fault.status, await fault.json()]).toEqual([
    500,
    {
      error: expect.objectContaining({ code: 'internal_error' }),
      request_id: fault.headers.get('X-Request-Id'),
    },
  ])
  await listener.close()
})

test('the admin socket can be opened only by its owner', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gatewayctl-'))
  const path = join(dir, 'run', 'admin.sock')
  const options = {
    store: s.deps.store,
    clock: s.deps.clock,
    listen: { hostname: '127.0.0.1', port: 0 },
    adminSocket: path,
    version: '1.2.3',
  }
  const gateway = await startGateway(options)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(dir, 'run')).mode & 0o777).toBe(0o700)
  const status = await fetch('http://gatewayctl/verbs/status', {
    unix: path,
    method: 'POST',
    body: '{}',
  })
  expect(await status.json()).toMatchObject({
    running: true,
    version: '1.2.3',
    in_flight: 0,
    listen: gateway.url.slice(7),
  })
  await gateway.stop(0)
  expect(existsSync(path)).toBe(false)

  // The socket of a killed server is replaced.
  writeFileSync(path, '')
  chmodSync(path, 0o644)
  const again = await startGateway(options)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await again.stop(0)
  rmSync(dir, { recursive: true })
})
