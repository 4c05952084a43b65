// Untrusted URLs: every known way to reach internal addresses, tried against the policy and with a resolver of our own.
import { describe, expect, test } from 'vitest'
import { isLoopbackAddress, isPrivateAddress, isPublicAddress } from '#outbound/addresses.ts'
import { resolveDestination } from '#outbound/destination.ts'
import { type DestinationPolicy, PUBLIC_HTTPS } from '#outbound/policy.ts'

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
  ])('T30: %s is inside', (address) => expect(isPublicAddress(address)).toBe(false))

  test.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['128.0.0.1', false],
    ['0.0.0.0', false],
    ['10.0.0.1', false],
    ['::', false],
    ['::2', false],
    ['localhost', false],
  ])('whether %s is this machine: %s', (address, is) => expect(isLoopbackAddress(address)).toBe(is))

  test.each([
    ['10.0.0.1', true],
    ['100.64.0.1', true],
    ['172.31.255.255', true],
    ['192.168.1.1', true],
    ['fd12:3456::1', true],
    ['127.0.0.1', false],
    ['::1', false],
    ['0.0.0.0', false],
    ['169.254.169.254', false],
    ['fe80::1', false],
    ['fd00:ec2::254', false],
    ['::ffff:169.254.169.254', false],
    ['64:ff9b::a00:1', false],
    ['224.0.0.1', false],
    ['8.8.8.8', false],
    ['2606:4700::1', false],
    ['printer', false],
  ])('whether %s is private: %s', (address, is) => expect(isPrivateAddress(address)).toBe(is))
})

/** The real rules, with a resolver that finds `found` for every name and counts how often it was asked. */
function resolving(...found: readonly (readonly string[])[]) {
  const asked: string[] = []
  const policy: DestinationPolicy = {
    ...PUBLIC_HTTPS,
    ports: [443, 8443],
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
  ])('T34: %s is refused whatever a resolver says', async (address) => {
    const { policy, asked } = resolving([PUBLIC])
    expect(await resolveDestination(address, policy)).toBeNull()
    expect(asked).toEqual([])
  })

  test.each([
    [['127.0.0.1']],
    [[PUBLIC, '10.0.0.1']],
    [['10.0.0.1', PUBLIC]],
    [[PUBLIC, '::1']],
    [['::ffff:10.0.0.1']],
    [[]],
  ])('T31: a name with the addresses %j is refused', async (found) => {
    expect(await resolveDestination('https://pics.example/', resolving(found).policy)).toBeNull()
  })

  test('T34: the connection goes to the address that was checked', async () => {
    const { policy, asked } = resolving(['2606:4700::1', PUBLIC], ['127.0.0.1'])
    expect(await resolveDestination('https://Pics.Example:8443/a?b=c#d', policy)).toEqual({
      pinned: `https://${PUBLIC}:8443/a?b=c`,
      host: 'pics.example:8443',
      serverName: 'pics.example',
    })
    expect(asked).toEqual(['pics.example'])
  })

  test('an IPv6 address stands in brackets, and an address has no name to certify', async () => {
    const { policy } = resolving(['2606:4700::1'])
    const named = await resolveDestination('https://pics.example/', policy)
    expect(named?.pinned).toBe('https://[2606:4700::1]/')
    const bare = await resolveDestination(`https://${PUBLIC}/`, policy)
    expect(bare).toMatchObject({ host: PUBLIC, serverName: null })
  })
})
