/** Tells the addresses of the public internet from those inside: nothing may be fetched from within. */
import { BlockList, isIP } from 'node:net'

type Range = readonly [network: string, prefix: number]

/** What IANA's registry of special-purpose IPv4 addresses holds, and everything from multicast upwards. */
const INSIDE_V4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]

/** Global unicast is one block of IPv6; mapped and translated IPv4, ULA, link-local and multicast all lie outside it. */
const GLOBAL_V6: Range = ['2000::', 3]

/** Parts of that block with another meaning: protocols' own (Teredo), documentation, 6to4 (an IPv4 address in disguise). */
const INSIDE_V6: readonly Range[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
]

const inside = new BlockList()
for (const [network, prefix] of INSIDE_V4) inside.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of INSIDE_V6) inside.addSubnet(network, prefix, 'ipv6')

const global = new BlockList()
global.addSubnet(GLOBAL_V6[0], GLOBAL_V6[1], 'ipv6')

/** Whether `address` (dotted IPv4 or IPv6, without brackets and zone) is global unicast; false for what is no address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !inside.check(address, 'ipv4')
    case 6:
      return global.check(address, 'ipv6') && !inside.check(address, 'ipv6')
    default:
      return false
  }
}
