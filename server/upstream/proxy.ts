/** Tells whether the operator's environment sends a request through a proxy (curl's variables, as the runtime reads them). */

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Whether `url` goes through a proxy. `NO_PROXY` is read for what every program agrees on: `*`, a name with all below it,
 * a port. What only some understand (ranges of addresses) is left to the client that speaks to proxies.
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

/** The small letters win, as in curl. */
const read = (env: Environment, name: string): string => env[name.toLowerCase()] || env[name] || ''

function covers(entry: string, { hostname, host, port, protocol }: URL): boolean {
  if (entry === '*') return true
  const place = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host
  const name = entry.replace(/^\*?\./, '')
  return [hostname, place].some((known) => known === name || known.endsWith(`.${name}`))
}
