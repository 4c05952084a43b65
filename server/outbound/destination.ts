/** Judges an address on a stranger's word, and pins it: the very address that was judged is the one that is connected to. */
import { isIP } from 'node:net'
import type { DestinationPolicy } from './policy.ts'

export interface Destination {
  /** The same place, with a judged address in place of the name. */
  readonly pinned: string
  /** What the `Host` field says. */
  readonly host: string
  /** The name that a certificate must hold; null where the URL itself named an address. */
  readonly serverName: string | null
}

/** Names that mean this machine or this network, whatever a resolver says of them. */
const INTERNAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

const isInternalName = (name: string): boolean => INTERNAL_NAME.test(name) || !name.includes('.')

/**
 * Null when nothing may be sent there. A name is resolved once, and one forbidden address among many is enough to refuse it.
 * The URL parser has already made one spelling of the many that an address can have. @throws what the resolver throws
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
  // Where both are offered, a machine without IPv6 must not be left out.
  const chosen = found.find((one) => isIP(one) === 4) ?? found[0]
  if (chosen === undefined) return null

  const { host } = url
  url.hostname = isIP(chosen) === 6 ? `[${chosen}]` : chosen
  url.hash = ''
  return { pinned: url.href, host, serverName: isName ? hostname : null }
}
