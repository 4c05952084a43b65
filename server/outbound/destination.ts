/** Checks an untrusted URL and pins it to the checked IP address, so that DNS rebinding cannot change it (T34). */
import { isIP } from 'node:net'
import type { DestinationPolicy } from './policy.ts'

export interface Destination {
  /** The URL with the checked address in place of the host name. */
  readonly pinned: string
  /** The `Host` header. */
  readonly host: string
  /** The name that the certificate must match; null when the URL has an IP address. */
  readonly serverName: string | null
}

/** Names of this machine or network, whatever they resolve to. */
const INTERNAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

const isInternalName = (name: string): boolean => INTERNAL_NAME.test(name) || !name.includes('.')

/**
 * Null when the policy forbids it. A name is resolved once, and one forbidden address is enough to refuse it. The URL parser has
 * already normalised the spellings of IP addresses. @throws what the resolver throws
 */
export async function resolveDestination(
  address: string,
  policy: DestinationPolicy,
): Promise<Destination | null> {
  const url = URL.parse(address)
  if (url === null || !policy.protocols.includes(url.protocol)) return null
  if (url.username !== '' || url.password !== '') return null
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  if (policy.ports !== 'any' && !policy.ports.includes(port)) return null

  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const isName = isIP(hostname) === 0
  if (isName && !policy.internalNames && isInternalName(hostname)) return null
  const found = isName ? await policy.resolve(hostname) : [hostname]
  if (!found.every((one) => policy.isAllowed(one, url.protocol))) return null
  // IPv4 first, because the gateway's machine may have no IPv6.
  const chosen = found.find((one) => isIP(one) === 4) ?? found[0]
  if (chosen === undefined) return null

  const { host } = url
  url.hostname = isIP(chosen) === 6 ? `[${chosen}]` : chosen
  url.hash = ''
  return { pinned: url.href, host, serverName: isName ? hostname : null }
}
