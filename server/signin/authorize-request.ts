/** Authorization requests that the library does not accept as they are (spec §4.6). */

/** Longer addresses are cut off by listeners and proxies on the way. */
const LONGEST = 8000

/** Spec §4.6 lets scopes be parted by a plus, which some clients encode as one: `openid%2Bemail`. */
export function withSpacedScope(query: URLSearchParams): URLSearchParams {
  const [scope = '', ...others] = query.getAll('scope')
  if (others.length > 0 || !scope.includes('+') || scope.includes(' ')) return query
  const spaced = new URLSearchParams(query)
  spaced.set('scope', scope.replaceAll('+', ' '))
  return spaced
}

/**
 * To choose an account here is to type its address, which is what `login` asks for. The library knows no
 * `select_account`, and would refuse it (OpenID Connect Core §3.1.2.1).
 */
export function withLoginPrompt(query: URLSearchParams): URLSearchParams {
  const [prompt = '', ...others] = query.getAll('prompt')
  const prompts = prompt.split(' ')
  if (others.length > 0 || !prompts.includes('select_account')) return query
  const known = new URLSearchParams(query)
  known.set('prompt', prompts.map((one) => (one === 'select_account' ? 'login' : one)).join(' '))
  return known
}

/**
 * A request that was posted goes on as a GET (OpenID Connect Core §3.1.2.1, RP-Initiated Logout 1.0 §2). Taken as it is, it
 * would want session cookies that other sites' forms bring along; without them a sign-out finds nobody to ask, and puts
 * an empty session in the place of theirs. Undefined when it is too long for an address.
 */
export function toGet(path: string, form: URLSearchParams): Response | undefined {
  const location = `${path}?${form.toString()}`
  if (location.length > LONGEST) return undefined
  return new Response(null, {
    status: 303,
    headers: { Location: location, 'Cache-Control': 'no-store' },
  })
}
