// One webhook over a real socket: its signature, which responses count as delivered, and which addresses are forbidden.
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Instant, instant } from '#domain/clock.ts'
import { newWebhookSecret } from '#domain/webhook-secret.ts'
import { readSecret } from '#notify/signature.ts'
import { postWebhook } from '#notify/webhook.ts'
import { webhookPolicy } from '#notify/webhook-policy.ts'
import type { DestinationPolicy } from '#outbound/policy.ts'
import { type Answer, never, startReceiver, verify } from '#test/support/receiver.ts'
import { eventually } from '#test/support/scripted-upstream.ts'

const SECRET = newWebhookSecret()
const BODY = '{"type":"gateway.low_balance","id":"evt_1","data":{"name":"Grüße \\u0000"}}'
const LOOPBACK = webhookPolicy({ loopback: true, private: false })
const STRICT = webhookPolicy({ loopback: false, private: false })
const FIXTURES = new URL('../upstream/http1/fixtures/', import.meta.url)

interface SendOptions {
  readonly policy?: DestinationPolicy
  readonly at?: Instant
  readonly signal?: AbortSignal
}

const send = (url: string, options: SendOptions = {}) =>
  postWebhook(
    { eventId: 'evt_1', body: BODY, url, key: readSecret(SECRET) ?? new Uint8Array() },
    options.policy ?? LOOPBACK,
    options.at ?? instant(Date.now()),
    options.signal ?? AbortSignal.timeout(5_000),
  )

/** Sends to a receiver with this handler. */
async function sendTo(answer: Answer, options?: SendOptions) {
  const receiver = startReceiver(answer)
  return { outcome: await send(`${receiver.url}/hook?a=b`, options), receiver }
}

const status = (code: number, headers = {}): Answer => {
  return () => new Response(code === 204 ? null : 'secret words', { status: code, headers })
}

/** A raw server that accepts every connection and runs a callback. */
async function startRaw(onData: (socket: import('node:net').Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => onData(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

describe('a webhook request', () => {
  test('is signed so that a standard library verifies it, and reveals nothing else about the gateway', async () => {
    const { outcome, receiver } = await sendTo(status(204))
    expect(outcome).toEqual({ status: 204, failure: null })
    const [one] = receiver.received
    expect(one?.path).toBe('/hook')
    expect(one?.body).toBe(BODY)
    expect(verify(SECRET, one!)).toEqual(JSON.parse(BODY))
    expect(one?.headers).toEqual({
      host: new URL(receiver.url).host,
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
      'content-length': String(Buffer.byteLength(BODY)),
      'content-type': 'application/json',
      'user-agent': 'gatewayctl',
      'webhook-id': 'evt_1',
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
  })

  test('does not verify with another secret, another body or an old time', async () => {
    const { receiver } = await sendTo(status(204), { at: instant(Date.now() - 301_000) })
    const [old] = receiver.received
    expect(() => verify(SECRET, old!)).toThrow('timestamp too old')
    await send(receiver.url)
    const fresh = receiver.received[1]!
    expect(() => verify(newWebhookSecret(), fresh)).toThrow('No matching signature')
    expect(() => verify(SECRET, { ...fresh, body: `${BODY} ` })).toThrow('No matching signature')
    const renamed = { ...fresh, headers: { ...fresh.headers, 'webhook-id': 'evt_2' } }
    expect(() => verify(SECRET, renamed)).toThrow('No matching signature')
  })

  test.each([
    '',
    'whsec_',
    'whsec_AAAA',
    `whsec_${btoa('x'.repeat(23))}`,
    SECRET.slice(6),
    `${SECRET}!`,
  ])('T9: the secret "%s" is invalid', (secret) => expect(readSecret(secret)).toBeNull())
})

describe('a response', () => {
  test.each([200, 201, 202, 204, 299])('with %i means delivered', async (code) => {
    const { outcome } = await sendTo(status(code))
    expect(outcome).toEqual({ status: code, failure: null })
  })

  test.each([400, 401, 404, 409, 422, 500, 503])('with %i means not delivered', async (code) => {
    const { outcome } = await sendTo(status(code))
    expect(outcome).toEqual({ status: code, failure: 'status' })
  })

  test('with 410 is permanent', async () => {
    const { outcome } = await sendTo(status(410))
    expect(outcome).toEqual({ status: 410, failure: 'status', isFinal: true })
  })

  test.each([301, 302, 303, 307, 308])('T29: with %i is not followed', async (code) => {
    const inside = startReceiver(() => new Response())
    const { outcome } = await sendTo(status(code, { location: `${inside.url}/in` }))
    expect(outcome).toEqual({ status: code, failure: 'redirect' })
    expect(inside.received).toEqual([])
  })

  test.each([
    [429, '90', 90_000],
    [502, '1', 1_000],
    [503, '90', 90_000],
    [504, '90', 90_000],
    [503, 'soon', undefined],
    [500, '90', undefined],
    [200, '90', undefined],
  ])('with %i and Retry-After %s postpones the next attempt', async (code, wish, ms) => {
    const { outcome } = await sendTo(status(code, { 'retry-after': wish }))
    expect(outcome.retryAfterMs).toBe(ms)
  })

  test('T36: whose body never ends is dropped as soon as its status is known', async () => {
    let sent = 0
    let isGone = false
    const endless = () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await Bun.sleep(1)
            sent += 65_536
            controller.enqueue(new Uint8Array(65_536))
          },
          cancel() {
            isGone = true
          },
        }),
      )
    const { outcome } = await sendTo(endless, { signal: AbortSignal.timeout(60_000) })
    expect(outcome).toEqual({ status: 200, failure: null })
    await eventually(() => isGone, 'the answer is let go')
    expect(sent).toBeLessThan(16_000_000)
  })

  test('whose head never ends is a failure', async () => {
    const url = await startRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write(`x-a: ${'y'.repeat(60_000)}\r\n`), 1)
      socket.on('close', () => clearInterval(timer))
    })
    expect(await send(url)).toEqual({ status: null, failure: 'network' })
  })
})

describe('a connection fails', () => {
  test('because nothing listens', async () => {
    const { receiver } = await sendTo(status(204))
    await receiver.close()
    expect(await send(receiver.url)).toEqual({ status: null, failure: 'refused' })
  })

  test('because it breaks off', async () => {
    const url = await startRaw((socket) => socket.destroy())
    expect(await send(url)).toEqual({ status: null, failure: 'reset' })
  })

  test('because it hangs, or sends too slowly', async () => {
    const { outcome } = await sendTo(never, { signal: AbortSignal.timeout(100) })
    expect(outcome).toEqual({ status: null, failure: 'timeout' })
    const url = await startRaw((socket) => {
      const timer = setInterval(() => socket.write('H'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const signal = AbortSignal.timeout(200)
    expect(await send(url, { signal })).toEqual({ status: null, failure: 'timeout' })
  })

  test('because the name does not resolve, or not in time', async () => {
    const url = 'https://ops.example/'
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const lost = { ...STRICT, resolve: () => Promise.reject(unknown) }
    expect(await send(url, { policy: lost })).toEqual({ status: null, failure: 'dns' })
    const slow = { ...STRICT, resolve: () => new Promise<never>(() => {}) }
    const signal = AbortSignal.timeout(50)
    expect(await send(url, { policy: slow, signal })).toEqual({ status: null, failure: 'timeout' })
  })
})

describe('https', () => {
  const tls = {
    key: Bun.file(new URL('localhost-key.pem', FIXTURES)),
    cert: Bun.file(new URL('localhost-cert.pem', FIXTURES)),
  }
  /** Names resolve to the receiver; its certificate is for `localhost`. */
  const trusting = async (): Promise<DestinationPolicy> => ({
    ...LOOPBACK,
    resolve: async () => ['127.0.0.1'],
    ca: await tls.cert.text(),
  })

  test('connects to the address that was checked, under the name in the URL', async () => {
    const receiver = startReceiver(status(204), tls)
    const { port } = new URL(receiver.url)
    const outcome = await send(`https://localhost:${port}/`, { policy: await trusting() })
    expect(outcome).toEqual({ status: 204, failure: null })
    expect(receiver.received[0]?.headers['host']).toBe(`localhost:${port}`)
  })

  test('refuses a certificate that is untrusted, or for another name', async () => {
    const receiver = startReceiver(status(204), tls)
    const { port } = new URL(receiver.url)
    const failed = { status: null, failure: 'tls' }
    expect(await send(`https://localhost:${port}/`)).toEqual(failed)
    const policy = await trusting()
    expect(await send(`https://ops.example:${port}/`, { policy })).toEqual(failed)
    expect(receiver.received).toEqual([])
  })
})

describe('a forbidden destination', () => {
  const answering = (...answers: readonly (readonly string[])[]) => {
    let asked = 0
    const resolve = async () => answers[asked++] ?? []
    return { resolve, asked: () => asked }
  }
  const forbidden = { status: null, failure: 'forbidden_address' }

  test.each([
    'http://ops.example/',
    'http://93.184.215.14/',
    'ftp://ops.example/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://0.0.0.0/',
    'https://localhost/',
    'https://intranet/',
    'https://hooks.internal/',
    'https://user:secret@ops.example/',
  ])('T33: %s', async (url) => {
    const policy = { ...STRICT, resolve: async () => ['93.184.215.14'] }
    expect(await send(url, { policy })).toEqual(forbidden)
  })

  test.each([[['10.0.0.1']], [['93.184.215.14', '127.0.0.1']], [['::ffff:10.0.0.1']], [[]]])(
    'T31, T33: a name that resolves to %j',
    async (found) => {
      const policy = { ...STRICT, resolve: answering(found).resolve }
      expect(await send('https://ops.example/', { policy })).toEqual(forbidden)
    },
  )

  test('T34: a name is resolved once per attempt, so that a later answer changes nothing', async () => {
    const receiver = startReceiver(status(204))
    const { port } = new URL(receiver.url)
    const { resolve, asked } = answering(['127.0.0.1'], ['10.0.0.1'])
    const policy = { ...LOOPBACK, resolve }
    const url = `http://ops.example:${port}/`
    expect(await send(url, { policy })).toEqual({ status: 204, failure: null })
    expect(asked()).toBe(1)
    expect(await send(url, { policy })).toEqual(forbidden)
    expect(asked()).toBe(2)
    expect(receiver.received).toHaveLength(1)
  })

  test('permission for this machine does not include its network, nor the other way round', async () => {
    const allowed = (leave: Parameters<typeof webhookPolicy>[0]) => {
      const { isAllowed } = webhookPolicy(leave)
      const places = [
        '127.0.0.1',
        '::1',
        '10.1.2.3',
        'fd12::1',
        '169.254.169.254',
        '0.0.0.0',
        '8.8.8.8',
      ]
      return [
        places.filter((place) => isAllowed(place, 'https:')),
        places.filter((place) => isAllowed(place, 'http:')),
      ]
    }
    expect(allowed({ loopback: false, private: false })).toEqual([['8.8.8.8'], []])
    expect(allowed({ loopback: true, private: false })).toEqual([
      ['127.0.0.1', '::1', '8.8.8.8'],
      ['127.0.0.1', '::1'],
    ])
    expect(allowed({ loopback: false, private: true })).toEqual([
      ['10.1.2.3', 'fd12::1', '8.8.8.8'],
      [],
    ])
  })

  test('internal names are resolved once internal addresses are allowed, and are checked like all others', async () => {
    const { resolve, asked } = answering(['10.0.0.1'], ['127.0.0.1'])
    const policy = { ...webhookPolicy({ loopback: true, private: false }), resolve }
    expect(await send('https://hooks.internal/', { policy })).toEqual(forbidden)
    expect(asked()).toBe(1)
  })
})

test('a connection that the receiver keeps open is closed', async () => {
  let isGone = false
  const url = await startRaw((socket) => {
    socket.on('close', () => {
      isGone = true
    })
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')
  })
  const signal = AbortSignal.timeout(60_000)
  expect(await send(url, { signal })).toEqual({ status: 200, failure: null })
  await eventually(() => isGone, 'the connection is closed')
})
