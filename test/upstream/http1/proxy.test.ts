// Requests through the proxy of the environment: which one, what it is told, and what it can do wrong.
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { handClock } from '#test/support/hand-clock.ts'
import { aProvider } from '#test/support/nouns.ts'
import { createProbe } from '#upstream/probe.ts'
import { readProxy } from '#upstream/proxy.ts'
import { ask, certificate, fixture } from './ask.ts'
import {
  answer,
  answerAll,
  type Certificate,
  handControl,
  post,
  type RawProvider,
  startRaw,
  until,
} from './raw-provider.ts'

const proxy = 'http://proxy.example:3128'

test.each([
  ['http://a.example/', { HTTP_PROXY: proxy }, true],
  ['http://a.example/', { http_proxy: proxy }, true],
  ['http://a.example/', { ALL_PROXY: proxy }, true],
  ['https://a.example/', { all_proxy: proxy }, true],
  ['https://a.example/', { HTTPS_PROXY: proxy }, true],
  ['https://a.example/', { HTTP_PROXY: proxy }, false],
  ['http://a.example/', { HTTPS_PROXY: proxy }, false],
  ['http://a.example/', { HTTP_PROXY: '' }, false],
  ['http://a.example/', {}, false],
  ['http://a.example/', { HTTP_PROXY: proxy, NO_PROXY: '*' }, false],
  ['http://a.example/', { HTTP_PROXY: proxy, NO_PROXY: 'b.example, A.EXAMPLE' }, false],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: '.example' }, false],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: '*.example' }, false],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'xample' }, true],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'b.a.example' }, true],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: ',' }, true],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'a.example:80' }, false],
  ['https://a.example/', { HTTPS_PROXY: proxy, no_proxy: 'a.example:443' }, false],
  ['http://a.example:81/', { HTTP_PROXY: proxy, no_proxy: 'a.example:80' }, true],
  ['http://a.example:81/', { HTTP_PROXY: proxy, no_proxy: 'a.example' }, false],
  ['http://127.0.0.1:81/', { HTTP_PROXY: proxy, no_proxy: '127.0.0.1' }, false],
  ['http://[::1]:81/', { HTTP_PROXY: proxy, no_proxy: '[::1]' }, false],
  ['http://[::1]:81/', { HTTP_PROXY: proxy, no_proxy: '::1' }, false],
  ['http://10.1.2.3/', { HTTP_PROXY: proxy, no_proxy: '10.0.0.0/8' }, false],
  ['http://11.1.2.3/', { HTTP_PROXY: proxy, no_proxy: '10.0.0.0/8' }, true],
  ['http://[fd00::7]/', { HTTP_PROXY: proxy, no_proxy: 'fd00::/8' }, false],
  ['http://10.1.2.3/', { HTTP_PROXY: proxy, no_proxy: 'fd00::/8, 10.0.0.0/99, 10.0.0.0/x' }, true],
  ['http://a.example/', { HTTP_PROXY: proxy, no_proxy: 'a.example/8' }, true],
  ['http://11.1.2.3/', { HTTP_PROXY: proxy, no_proxy: '10.0.0.0/, 10.0.0.0/0x0' }, true],
])('%s with %o: %s', (url, env, isSo) => {
  expect(readProxy(new URL(url), env)?.href).toBe(isSo ? `${proxy}/` : undefined)
})

test('a proxy may be written without a scheme, and must be one for http', () => {
  const read = (text: string) => readProxy(new URL('http://a.example/'), { HTTP_PROXY: text })
  expect(read('proxy.example:3128')?.href).toBe(`${proxy}/`)
  expect(read('user:secret@localhost:3128')?.host).toBe('localhost:3128')
  for (const text of ['socks5://proxy.example:1080', 'http://', '::::', 'file:///x']) {
    expect(() => read(text)).toThrow('the proxy of the environment is no http address')
  }
})

/** Of `user` and `p@ss`. */
const CREDENTIAL = 'proxy-authorization: Basic dXNlcjpwQHNz'

function withCredential({ url }: RawProvider): string {
  const { protocol, host } = url
  return `${protocol}//user:p%40ss@${host}`
}

describe('to a provider without TLS', () => {
  test.each([
    ['http', undefined],
    ['https', certificate('localhost')],
  ])('an %s proxy gets the whole URL and its credential', async (_, own) => {
    const seen: (string | null)[] = []
    const middle = await startRaw(async ({ request, socket }) => {
      seen.push(await request())
      socket.end(answer('proxied', 'connection: close\r\n'))
    }, own)
    const provider = await startRaw(answerAll(answer('hi')))
    const env = {
      HTTP_PROXY: withCredential(middle),
      NODE_EXTRA_CA_CERTS: fixture('localhost-cert.pem'),
    }
    expect(await ask(provider.url, env)).toBe('200 7')
    expect(seen[0]).toMatch(`POST ${provider.url.href} HTTP/1.1\r\nhost: ${provider.url.host}\r\n`)
    expect(seen[0]).toContain(`\r\n${CREDENTIAL}\r\n`)
    expect(await ask(provider.url, { ...env, NO_PROXY: '127.0.0.0/8' })).toBe('200 2')
    expect(seen).toHaveLength(1)
  })
})

test("a provider's models are listed by the same way", async () => {
  let head = ''
  const middle = await startRaw(({ socket }) =>
    socket.once('data', (bytes) => {
      head = bytes.toString('latin1')
      socket.end(answer('{"data":[{"id":"m"}]}', 'date: Sun, 23 Aug 2026 12:00:00 GMT\r\n'))
    }),
  )
  vi.stubEnv('HTTP_PROXY', withCredential(middle))
  onTestFinished(() => void vi.unstubAllEnvs())
  const provider = aProvider({ type: 'openai-compatible', baseUrl: 'http://provider.example/v1' })
  const listed = await createProbe(handClock('2026-08-23T12:00:00Z')).listModels(provider, 'sk-x')
  expect(listed).toMatchObject({ ok: true, status: 200, models: ['m'], skewMs: 500 })
  expect(head).toMatch(
    'GET http://provider.example/v1/models HTTP/1.1\r\nhost: provider.example\r\n',
  )
  expect(head).toContain(`\r\n${CREDENTIAL}\r\n`)
  expect(head).toContain('\r\nauthorization: Bearer sk-x\r\n')
  expect(head).not.toContain('content-length')
})

/** More than the runtime's own client sends at once. */
const MANY = 300

/** A proxy that connects to where it is asked to; `asked` are the heads of the CONNECT requests, `open` their number now. */
async function startTunnels(own?: Certificate) {
  const asked: string[] = []
  const server = await startRaw(({ socket }) => {
    socket.once('data', (head) => {
      asked.push(head.toString('latin1'))
      const [, host, port] = /^CONNECT (\S+):(\d+) /.exec(asked.at(-1) ?? '') ?? []
      const beyond = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\nvia: middle\r\n\r\n')
        socket.pipe(beyond).pipe(socket)
      })
      beyond.on('error', () => socket.destroy())
      socket.on('close', () => beyond.destroy())
    })
  }, own)
  return { server, asked }
}

describe.each([
  ['http', undefined],
  ['https', certificate('localhost')],
])('to a provider with TLS, an %s proxy', (_, own) => {
  const trusted = { NODE_EXTRA_CA_CERTS: fixture('localhost-cert.pem') }

  test('connects, sees no request, and serves several by one connection', async () => {
    const seen: (string | null)[] = []
    const provider = await startRaw(async ({ request, socket }) => {
      for (;;) {
        seen.push(await request())
        if (seen.at(-1) === null) return
        socket.write(answer('hi'))
      }
    }, certificate('localhost'))
    const { server, asked } = await startTunnels(own)
    const env = { ...trusted, HTTPS_PROXY: withCredential(server) }
    expect(await ask(provider.url, env, 3)).toBe('200 2\n200 2\n200 2')
    const { host } = provider.url
    expect(asked).toEqual([`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n${CREDENTIAL}\r\n\r\n`])
    expect(seen.slice(0, 3).every((text) => text?.startsWith('POST /v1/chat HTTP/1.1\r\n'))).toBe(
      true,
    )
    expect(seen.join('').toLowerCase()).not.toContain('proxy-')
  })

  test('is asked for as many at once as there are requests: none waits for another', async () => {
    const { promise: allAsked, resolve } = Promise.withResolvers<void>()
    let asking = 0
    const provider = await startRaw(async ({ request, socket }) => {
      await request()
      if (++asking === MANY) resolve()
      await allAsked
      socket.write(answer('hi'))
    }, certificate('localhost'))
    const { server } = await startTunnels(own)
    const env = { ...trusted, HTTPS_PROXY: server.url.origin }
    expect(await ask(provider.url, env, MANY, MANY)).toBe(Array(MANY).fill('200 2').join('\n'))
  })

  test('is lost with its provider: a request on a kept connection may be sent again, one on a new one not', async () => {
    const provider = await startRaw(async ({ request, socket, n }) => {
      await request()
      if (n === 0) {
        socket.write(answer('hi'))
        await request()
      }
      socket.destroy()
    }, certificate('localhost'))
    const { server } = await startTunnels(own)
    const env = { ...trusted, HTTPS_PROXY: server.url.origin }
    expect(await ask(provider.url, env, 2)).toBe(
      '200 2\nthe connection broke off: it may be sent again',
    )
    expect(await ask(provider.url, env)).toBe('the connection broke off')
  })

  test('passes on two megabytes, and a body that ends with its connection', async () => {
    const body = 'x'.repeat(2_000_000)
    const provider = await startRaw(async ({ request, socket }) => {
      await request()
      socket.end(`HTTP/1.1 200 OK\r\n\r\n${body}`)
    }, certificate('localhost'))
    const { server } = await startTunnels(own)
    provider.url.hostname = 'localhost'
    const env = { ...trusted, HTTPS_PROXY: server.url.origin }
    expect(await ask(provider.url, env)).toBe('200 2000000')
  })

  test('does not make an untrusted certificate trusted', async () => {
    const seen: (string | null)[] = []
    const provider = await startRaw(
      async ({ request }) => seen.push(await request()),
      certificate('elsewhere'),
    )
    const { server, asked } = await startTunnels(own)
    const env = { ...trusted, HTTPS_PROXY: server.url.origin, NODE_TLS_REJECT_UNAUTHORIZED: '0' }
    for (const name of ['127.0.0.1', 'localhost']) {
      provider.url.hostname = name
      expect(await ask(provider.url, env)).toBe(
        'its certificate was not accepted (DEPTH_ZERO_SELF_SIGNED_CERT)',
      )
    }
    const both = { ...env, SSL_CERT_FILE: fixture('elsewhere-cert.pem') }
    for (const name of ['127.0.0.1', 'localhost']) {
      provider.url.hostname = name
      expect(await ask(provider.url, both)).toBe(
        'its certificate was not accepted (ERR_TLS_CERT_ALTNAME_INVALID)',
      )
    }
    expect(asked).toHaveLength(4)
    expect(seen.filter((request) => request !== null)).toEqual([])
  })

  test('or the provider may go away while TLS begins', async () => {
    const provider = await startRaw(({ socket }) => socket.destroy())
    const { server } = await startTunnels(own)
    const url = new URL(provider.url.href.replace('http:', 'https:'))
    const env = { ...trusted, HTTPS_PROXY: server.url.origin }
    expect(await ask(url, env)).toBe('the connection broke off')
  })
})

test('an untrusted certificate of the proxy is refused, and it is told nothing', async () => {
  const { server, asked } = await startTunnels(certificate('localhost'))
  for (const url of ['http://a.example/', 'https://a.example/']) {
    const env = { ALL_PROXY: withCredential(server) }
    expect(await ask(new URL(url), env)).toMatch(/certificate was not accepted/)
  }
  expect(asked).toEqual([])
})

describe('a proxy that does not connect', () => {
  const target = { url: new URL('https://provider.example/v1/chat') }

  function watched() {
    const control = handControl()
    let sent = 0
    let connected = 0
    return {
      control: { ...control, sent: () => void sent++, connected: () => void connected++ },
      abort: control.abort,
      seen: () => ({ sent, connected }),
    }
  }

  test.each([
    ['refuses', 'HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\n\r\n', '407'],
    ['explains its refusal', 'HTTP/1.0 403 \r\ncontent-length: 4\r\n\r\nsafe', '403'],
    ['speaks something else', 'SSH-2.0-x\r\n\r\n', 'its answer is not proper HTTP'],
    ['speaks for the provider', 'HTTP/1.1 200 OK\r\n\r\nx', '200'],
    ['has no end', 'HTTP/1.1 200 OK\r\n'.padEnd(20_000, 'x'), '200'],
    ['closes', '', ''],
  ])('because it %s is a failure, and nothing counts as sent', async (_, text, why) => {
    const message =
      why === '' ? 'the connection broke off' : `the proxy did not connect to it: ${why}`
    const { control, seen } = watched()
    const server = await startRaw(({ socket }) =>
      socket.once('data', () => (text === '' ? socket.end() : socket.write(text))),
    )
    const asking = post(target, { control, proxy: server.url })
    await expect(asking).rejects.toThrow(message)
    await until(() => server.open === 0)
    expect(seen()).toEqual({ sent: 0, connected: 0 })
  })

  test('because nobody listens there is a failure', async () => {
    const server = await startRaw(() => {})
    server.stopListening()
    const { control, seen } = watched()
    await expect(post(target, { control, proxy: server.url })).rejects.toThrow(
      'it refused the connection',
    )
    expect(seen()).toEqual({ sent: 0, connected: 0 })
  })

  test.each([
    ['before its own TLS', 'https:', ''],
    ['before it answers', 'http:', ''],
    ['before the TLS of the provider', 'http:', 'HTTP/1.1 200 OK\r\n\r\n'],
  ])('because it hangs %s is let go when the request is aborted', async (_, protocol, text) => {
    let heard = 0
    const server = await startRaw(({ socket }) => {
      socket.on('data', () => heard++)
      if (text !== '') socket.once('data', () => socket.write(text))
    })
    const { control, abort, seen } = watched()
    const asking = post(target, {
      control,
      proxy: new URL(server.url.href.replace('http:', protocol)),
    })
    await until(() => heard === (text === '' ? 1 : 2))
    abort(new Error('the client left'))
    await expect(asking).rejects.toThrow('the client left')
    await until(() => server.open === 0)
    expect(seen()).toEqual({ sent: 0, connected: 0 })
  })
})
