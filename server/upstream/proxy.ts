/** Decides from the proxy variables (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY) whether a request goes through a proxy. */

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Of `NO_PROXY` only the syntax that all programs share is read: `*`, a domain with its subdomains, a port. Address ranges are
 * left to the client that uses the proxy.
 */
export function isProxied(url: URL, env: Environment): boolean {
  const own = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const proxy = read(env, own) || read(env, 'ALL_PROXY')
  if (proxy === '') return false
  const exempt = read(env, 'NO_PROXY')
    .toLowerCase()
    .split(/[\s,]+/)
  return !exempt.some((entry) => entry !== '' && covers(entry, url))
}

/** Lower-case names take precedence, as in curl. */
const read = (env: Environment, name: string): string => env[name.toLowerCase()] || env[name] || ''

function covers(entry: string, { hostname, host, port, protocol }: URL): boolean {
  if (entry === '*') return true
  const place = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host
  const name = entry.replace(/^\*?\./, '')
  return [hostname, place].some((known) => known === name || known.endsWith(`.${name}`))
}
