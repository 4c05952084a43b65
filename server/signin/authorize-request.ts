/** Authorization requests that the library does not accept as they are (contract §10). */

/** Listeners and proxies may reject longer URLs. */
const LONGEST = 8000

/** `+` may stand between scopes (contract §10), and some clients percent-encode it: `openid%2Bemail`. */
export function withSpacedScope(query: URLSearchParams): URLSearchParams {
  const [scope = '', ...others] = query.getAll('scope')
  if (others.length > 0 || !scope.includes('+') || scope.includes(' ')) return query
  const spaced = new URLSearchParams(query)
  spaced.set('scope', scope.replaceAll('+', ' '))
  return spaced
}

/**
 * A request object is refused, in the way in which the request is to be answered: as the object says where nothing beside it
 * does (OpenID Connect Core §6.1). Its signature does not matter for that.
 */
export function withModeOfObject(query: URLSearchParams): URLSearchParams {
  const object = query.get('request')
  if (object === null || query.has('response_mode')) return query
  const mode = modeIn(object)
  if (mode === undefined) return query
  const stated = new URLSearchParams(query)
  stated.set('response_mode', mode)
  return stated
}

function modeIn(object: string): string | undefined {
  try {
    const payload: unknown = JSON.parse(
      Buffer.from(object.split('.')[1] ?? '', 'base64url').toString(),
    )
    if (typeof payload !== 'object' || payload === null) return undefined
    return 'response_mode' in payload && typeof payload.response_mode === 'string'
      ? payload.response_mode
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Redirects a POST request to the same request as a GET (OpenID Connect Core §3.1.2.1, RP-Initiated Logout 1.0 §2). Browsers
 * omit SameSite=Lax cookies from cross-site posts, so a sign-out would find no session, and would overwrite the
 * person's session with an empty one. Undefined if the URL would be too long.
 */
export function toGet(path: string, form: URLSearchParams): Response | undefined {
  const location = `${path}?${form.toString()}`
  if (location.length > LONGEST) return undefined
  return new Response(null, {
    status: 303,
    headers: { Location: location, 'Cache-Control': 'no-store' },
  })
}
