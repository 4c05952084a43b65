// Images fetched from untrusted URLs over real sockets: limits, redirects, certificates, and no details about the internal network.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type FetchPolicy,
  fetchImage,
  PUBLIC_INTERNET,
} from '#upstream/guarded-fetch/fetch-image.ts'

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ', 'base64')

describe('fetching', () => {
  const directory = mkdtempSync(`${tmpdir()}/guarded-`)
  let server: ReturnType<typeof Bun.serve>
  let ca = ''
  const seen: Headers[] = []
  let redirects: Readonly<Record<string, string>> = {}
  let pulledBytes = 0
  let cancelled = Promise.withResolvers<void>()

  const endless = (everyMs: number): Response =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await Bun.sleep(everyMs)
          const bytes = everyMs === 0 ? Buffer.alloc(65_536, PNG) : PNG
          pulledBytes += bytes.length
          controller.enqueue(bytes)
        },
        cancel: () => cancelled.resolve(),
      }),
    )

  const answer = (request: Request): Response => {
    // Read at once: they are gone when the request is.
    seen.push(new Headers(request.headers))
    const { pathname } = new URL(request.url)
    const location = redirects[pathname]
    if (location !== undefined) {
      const headers = { location, 'set-cookie': 'a=b' }
      return new Response('moved', { status: 302, headers })
    }
    if (pathname === '/endless') return endless(0)
    if (pathname === '/slow') return endless(20)
    if (pathname === '/html')
      return new Response('<html>', { headers: { 'content-type': 'image/png' } })
    if (pathname === '/gzip') {
      return new Response(Bun.gzipSync(PNG), { headers: { 'content-encoding': 'gzip' } })
    }
    if (pathname === '/404') return new Response(PNG, { status: 404 })
    return new Response(PNG, { headers: { 'content-type': 'text/plain' } })
  }

  beforeAll(async () => {
    const made = Bun.spawnSync(
      `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k.pem -out c.pem -days 30 -subj /CN=pics.example -addext subjectAltName=DNS:pics.example`.split(
        ' ',
      ),
      { cwd: directory },
    )
    if (!made.success) throw new Error('openssl could not make a certificate')
    ca = await Bun.file(`${directory}/c.pem`).text()
    server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls: { key: Bun.file(`${directory}/k.pem`), cert: ca },
      fetch: answer,
    })
  })
  afterAll(async () => {
    await server.stop(true)
    rmSync(directory, { recursive: true })
  })

  /** As in production, except for the certificate, the port and the one address where the test's server listens. */
  const policy = (changes: Partial<FetchPolicy> = {}): FetchPolicy => ({
    ...PUBLIC_INTERNET,
    ports: 'any',
    resolve: async () => ['127.0.0.1'],
    isAllowed: (address) => address === '127.0.0.1',
    ca,
    ...changes,
  })
  const get = (path: string, changes: Partial<FetchPolicy> = {}, host = 'pics.example') => {
    seen.length = 0
    pulledBytes = 0
    cancelled = Promise.withResolvers()
    const address = path.startsWith('http') ? path : `https://${host}:${server.port}${path}`
    return fetchImage(address, new AbortController().signal, policy(changes))
  }

  test('an image is recognized by its bytes, not by its media type', async () => {
    const image = await get('/a?b=c')
    expect(image?.type).toBe('image/png')
    expect(Buffer.from(image!.bytes)).toEqual(PNG)
    expect(seen[0]?.get('host')).toBe(`pics.example:${server.port}`)
    expect([...seen[0]!.keys()].toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ])
  })

  test('a certificate for another name is not accepted', async () => {
    expect(await get('/a', {}, 'evil.example')).toBeNull()
    expect(seen).toEqual([])
  })

  test.each(['/html', '/gzip', '/404'])('%s is not an image', async (path) => {
    expect(await get(path)).toBeNull()
    expect(seen).toHaveLength(1)
  })

  test('an endless body is aborted at the maximum size', async () => {
    expect(await get('/endless', { mostBytes: 1_000_000 })).toBeNull()
    await cancelled.promise
    // Data in network buffers comes on top.
    expect(pulledBytes).toBeLessThan(12_000_000)
  })

  test('a stated length beyond the bound is not read', async () => {
    expect(await get('/a', { mostBytes: PNG.length - 1 })).toBeNull()
    expect(await get('/a', { mostBytes: PNG.length })).not.toBeNull()
  })

  test('a slow body has a total time-out, and so has a resolver', async () => {
    expect(await get('/slow', { totalMs: 200 })).toBeNull()
    await cancelled.promise
    expect(await get('/a', { totalMs: 50, resolve: () => new Promise(() => {}) })).toBeNull()
    expect(seen).toEqual([])
  })

  test('an abort rejects with its reason, and the fetch stops', async () => {
    const controller = new AbortController()
    const address = `https://pics.example:${server.port}/slow`
    const fetching = fetchImage(address, controller.signal, policy())
    controller.abort(new Error('left'))
    await expect(fetching).rejects.toThrow('left')
  })

  test('T29: two redirects are followed and checked, a third is refused', async () => {
    redirects = { '/1': '/2', '/2': `https://pics.example:${server.port}/a` }
    expect(await get('/1')).not.toBeNull()
    expect(seen).toHaveLength(3)
    expect(seen[1]?.get('cookie')).toBeNull()
    redirects = { ...redirects, '/0': '/1' }
    expect(await get('/0')).toBeNull()
    expect(seen).toHaveLength(3)
  })

  test.each([
    'https://10.0.0.1/a',
    'https://localhost/a',
    'http://pics.example/a',
    'file:///etc/passwd',
    'data:image/png;base64,iVBORw0KGgo=',
    'https://user@pics.example/a',
  ])('T29: a redirect to %s is refused', async (location) => {
    redirects = { '/in': location }
    expect(await get('/in')).toBeNull()
    expect(seen).toHaveLength(1)
  })

  test('T29, T34: a name that resolves to an internal address at the second hop is checked again', async () => {
    redirects = { '/1': '/2' }
    const answers = ['127.0.0.1', '10.0.0.1']
    expect(await get('/1', { resolve: async () => [answers.shift() ?? ''] })).toBeNull()
    expect(seen).toHaveLength(1)
  })
})
