/** Tells the addresses of the public internet from those inside, where nothing is reached on a stranger's word. */
import { BlockList, isIP } from 'node:net'

type Range = readonly [network: string, prefix: number]

/** What IANA's registry of special-purpose IPv4 addresses holds, and everything from multicast upwards. */
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

/** Global unicast is one block of IPv6; mapped and translated IPv4, ULA, link-local and multicast all lie outside it. */
const GLOBAL_V6: Range = ['2000::', 3]

/** Parts of that block with another meaning: protocols' own (Teredo), documentation, 6to4 (an IPv4 address in disguise). */
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

/** Where a gateway keeps its own machines: RFC 1918, carriers' shared addresses, ULA. No link-local: there clouds tell secrets. */
const PRIVATE: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['fc00::', 7],
]

/** What asks for the secrets of a cloud's machine within ULA. */
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

/** Whether `address` (dotted IPv4 or IPv6, without brackets and zone) is global unicast; false for what is no address. */
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

/** Whether it is this very machine, in the plain spelling of either family. */
export const isLoopbackAddress = matcherOf(LOOPBACK)

/** Whether it is one that networks give to their own machines; loopback and link-local are not. */
export const isPrivateAddress = (address: string): boolean =>
  isListedPrivate(address) && !isCloudMetadata(address)
