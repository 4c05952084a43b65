// The network of a client for rate limits: an IPv4 address, or the /64 of an IPv6 address.
import { expect, test } from 'vitest'
import { networkOf } from '#signin/network.ts'

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:0:1::5', '2001:db8:0:1::/64'],
  ['2001:0DB8:0000:0001:1:2:3:4', '2001:db8:0:1::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1:2:3:4', 'fe80:0:0:0::/64'],
])('%s belongs to %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
