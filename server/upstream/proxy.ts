/** Reads which proxy a request goes through from the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY). */
import { BlockList, isIP } from 'node:net'
import { UpstreamFailure } from '#domain/upstream.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Null when the request goes straight to its provider.
 * @throws UpstreamFailure `failed` when the proxy is not one for HTTP
 */
export function readProxy(url: URL, env: Environment): URL | null {
  const own = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const text = read(env, own) || read(env, 'ALL_PROXY')
  if (text === '') return null
  const exempt = read(env, 'NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/)
  if (exempt.some((entry) => entry !== '' && covers(entry, url))) return null
  // Like curl, it may be written without a scheme.
  const proxy = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (proxy !== null && /^https?:$/.test(proxy.protocol)) return proxy
  throw new UpstreamFailure('failed', `the proxy of the environment is no http address`)
}

/** Lower-case names take precedence, as in curl. */
const read = (env: Environment, name: string): string => env[name.toLowerCase()] || env[name] || ''

/** An entry is `*`, a domain with its subdomains, an address or a range of them; all but the last may have a port. */
function covers(entry: string, { hostname, host, port, protocol }: URL): boolean {
  if (entry === '*') return true
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  const [network = '', prefix] = entry.split('/')
  if (prefix !== undefined) return isWithin(address, network, prefix)
  const place = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host
  const name = entry.replace(/^\*?\./, '')
  return [hostname, address, place].some((known) => known === name || known.endsWith(`.${name}`))
}

function isWithin(address: string, network: string, prefix: string): boolean {
  const version = isIP(address)
  if (version === 0 || isIP(network) !== version) return false
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > (version === 4 ? 32 : 128)) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const range = new BlockList()
  range.addSubnet(network, Number(prefix), family)
  return range.check(address, family)
}
