/** The networks that rate limits count by. */

/** What a /48 of IPv6, which one customer may have with its 65,536 networks, may do in multiples of one network. */
export const NETWORKS_OF_SITE = 10

/** The network of an address: an IPv4 address, or the /64 of an IPv6 one, as a client usually has a whole /64. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail = ''] = address.split('::')
  const [left, right] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const groups = [
    ...(left ?? []),
    ...(address.includes('::')
      ? Array<string>(8 - (left ?? []).length - (right ?? []).length).fill('0')
      : []),
    ...(right ?? []),
  ]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`
}

/** What the names of all networks of its /48 begin with; null for an IPv4 address. */
export const siteOf = (network: string): string | null =>
  /^(?:[\da-f]+:){3}/.exec(network)?.[0] ?? null
