// Pictures fetched on a stranger's word: every way inside that is known, tried on real sockets and on a resolver of our own.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judgeDestination } from '#upstream/guarded-fetch/destination.ts'
import { fetchPicture } from '#upstream/guarded-fetch/fetch-picture.ts'
import { type FetchPolicy, PUBLIC_INTERNET } from '#upstream/guarded-fetch/policy.ts'
import { isPublicAddress } from '#upstream/guarded-fetch/public-address.ts'

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ', 'base64')
const PUBLIC = '93.184.215.14'

describe('addresses', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    PUBLIC,
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '198.17.0.1',
    '198.20.0.1',
    '223.255.255.254',
    '2606:4700:4700::1111',
    '2a00:1450:4001::200e',
  ])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true))

  test.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.250',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:a9fe:a9fe',
    '64:ff9b::7f00:1',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:a00:1::1',
    '3fff::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
    '127.1',
  ])('%s is inside', (address) => expect(isPublicAddress(address)).toBe(false))
})

/** The real rules, with a resolver that finds `found` for every name and counts how often it was asked. */
function resolving(...found: readonly (readonly string[])[]) {
  const asked: string[] = []
  const policy: FetchPolicy = {
    ...PUBLIC_INTERNET,
    resolve: async (hostname) => {
      asked.push(hostname)
      return found[Math.min(asked.length, found.length) - 1] ?? []
    },
  }
  return { policy, asked }
}

describe('destinations', () => {
  test.each([
    'http://pics.example/a.png',
    'ftp://pics.example/a.png',
    'file:///etc/passwd',
    'data:image/png;base64,iVBORw0KGgo=',
    'blob:https://pics.example/1',
    's3://bucket/a.png',
    'https://pics.example:22/',
    'https://pics.example:80/',
    'https://pics.example:9200/',
    'https://user@pics.example/',
    'https://user:secret@pics.example/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://0/',
    'https://１２７.０.０.１/',
    'https://①②⑦.⓪.⓪.①/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://[fd00:ec2::254]/',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://a.localhost/',
    'https://ｌocalhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://router.home.arpa/',
    'https://intranet/',
    'https://',
    'not an address',
    '',
  ])('%s is refused whatever a resolver says', async (address) => {
    const { policy, asked } = resolving([PUBLIC])
    expect(await judgeDestination(address, policy)).toBeNull()
    expect(asked).toEqual([])
  })

  test.each([
    [['127.0.0.1']],
    [[PUBLIC, '10.0.0.1']],
    [['10.0.0.1', PUBLIC]],
    [[PUBLIC, '::1']],
    [['::ffff:10.0.0.1']],
    [[]],
  ])('a name with the addresses %j is refused', async (found) => {
    expect(await judgeDestination('https://pics.example/', resolving(found).policy)).toBeNull()
  })

  test('the address that was judged is the one that is connected to', async () => {
    const { policy, asked } = resolving(['2606:4700::1', PUBLIC], ['127.0.0.1'])
    expect(await judgeDestination('https://Pics.Example:8443/a?b=c#d', policy)).toEqual({
      pinned: `https://${PUBLIC}:8443/a?b=c`,
      host: 'pics.example:8443',
      serverName: 'pics.example',
    })
    expect(asked).toEqual(['pics.example'])
  })

  test('an IPv6 address stands in brackets, and an address has no name to certify', async () => {
    const { policy } = resolving(['2606:4700::1'])
    const named = await judgeDestination('https://pics.example/', policy)
    expect(named?.pinned).toBe('https://[2606:4700::1]/')
    const bare = await judgeDestination(`https://${PUBLIC}/`, policy)
    expect(bare).toMatchObject({ host: PUBLIC, serverName: null })
  })
})

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

  /** As in earnest, but for the certificate, the port and the one address where the test's server listens. */
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
    return fetchPicture(address, new AbortController().signal, policy(changes))
  }

  test('a picture, by its bytes and not by its label', async () => {
    const picture = await get('/a?b=c')
    expect(picture?.type).toBe('image/png')
    expect(Buffer.from(picture!.bytes)).toEqual(PNG)
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

  test.each(['/html', '/gzip', '/404'])('%s holds no picture', async (path) => {
    expect(await get(path)).toBeNull()
    expect(seen).toHaveLength(1)
  })

  test('an endless body is let go at the bound', async () => {
    expect(await get('/endless', { mostBytes: 1_000_000 })).toBeNull()
    await cancelled.promise
    // What stands in buffers on the way comes on top.
    expect(pulledBytes).toBeLessThan(12_000_000)
  })

  test('a stated length beyond the bound is not read', async () => {
    expect(await get('/a', { mostBytes: PNG.length - 1 })).toBeNull()
    expect(await get('/a', { mostBytes: PNG.length })).not.toBeNull()
  })

  test('a slow body has a time in all, and so has a resolver', async () => {
    expect(await get('/slow', { totalMs: 200 })).toBeNull()
    await cancelled.promise
    expect(await get('/a', { totalMs: 50, resolve: () => new Promise(() => {}) })).toBeNull()
    expect(seen).toEqual([])
  })

  test('whoever leaves is told so, and nothing is fetched any longer', async () => {
    const controller = new AbortController()
    const address = `https://pics.example:${server.port}/slow`
    const fetching = fetchPicture(address, controller.signal, policy())
    controller.abort(new Error('left'))
    await expect(fetching).rejects.toThrow('left')
  })

  test('two redirects are followed and judged, a third is not', async () => {
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
  ])('a redirect to %s is refused', async (location) => {
    redirects = { '/in': location }
    expect(await get('/in')).toBeNull()
    expect(seen).toHaveLength(1)
  })

  test('a name that moves inside between two hops is judged again', async () => {
    redirects = { '/1': '/2' }
    const answers = ['127.0.0.1', '10.0.0.1']
    expect(await get('/1', { resolve: async () => [answers.shift() ?? ''] })).toBeNull()
    expect(seen).toHaveLength(1)
  })
})
