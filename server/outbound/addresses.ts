/** Classifies IP addresses as public, private or loopback, for requests to untrusted URLs. */
import { BlockList, isIP } from 'node:net'

type Range = readonly [network: string, prefix: number]

/** IANA's IPv4 Special-Purpose Address Registry, and everything from multicast upwards. */
const SPECIAL_V4: readonly Range[] = [
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

/** IPv6 global unicast; IPv4-mapped, translated, ULA, link-local and multicast addresses are outside it. */
const GLOBAL_V6: Range = ['2000::', 3]

/** Special-purpose parts of that block: protocol assignments (Teredo), documentation, 6to4 (embeds an IPv4 address). */
const SPECIAL_V6: readonly Range[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
]

const LOOPBACK: readonly Range[] = [
  ['127.0.0.0', 8],
  ['::1', 128],
]

/** Private networks: RFC 1918, shared address space, ULA. Not link-local, where clouds serve instance metadata. */
const PRIVATE: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['fc00::', 7],
]

/** The metadata address of AWS lies within ULA. */
const CLOUD_METADATA: readonly Range[] = [['fd00:ec2::', 32]]

function matcherOf(ranges: readonly Range[]): (address: string) => boolean {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, familyOf(network))
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address))
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

const isSpecial = matcherOf([...SPECIAL_V4, ...SPECIAL_V6])
const isGlobalV6 = matcherOf([GLOBAL_V6])
const isListedPrivate = matcherOf(PRIVATE)
const isCloudMetadata = matcherOf(CLOUD_METADATA)

/** Whether `address` (IPv4 or IPv6, without brackets and zone) is global unicast; false for anything else. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !isSpecial(address)
    case 6:
      return isGlobalV6(address) && !isSpecial(address)
    default:
      return false
  }
}

/** Whether `address` is loopback: 127.0.0.0/8 or ::1. */
export const isLoopbackAddress = matcherOf(LOOPBACK)

/** Whether `address` is of a private network; loopback and link-local are not. */
export const isPrivateAddress = (address: string): boolean =>
  isListedPrivate(address) && !isCloudMetadata(address)
