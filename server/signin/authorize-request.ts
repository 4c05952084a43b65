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
