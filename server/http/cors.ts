/** CORS: any origin is allowed, because a call is authenticated by its key and never by a cookie. */
const USUAL_HEADERS =
  'Authorization, Content-Type, X-Request-Id, Idempotency-Key, X-Gateway-Dry-Run, X-Gateway-Models, X-Gateway-Allow-Fallbacks, ' +
  'X-Gateway-Usage, anthropic-version, anthropic-beta, X-Api-Key'
const HEADER_NAMES = /^[\w-]+(?:\s*,\s*[\w-]+)*$/
const MAX_HEADER_CHARS = 2_000
const DAY_SECONDS = '86400'

/** Turns response headers into those of a preflight response. Any requested headers are allowed, as none can do harm. */
export function addPreflightHeaders(headers: Headers, request: Request): void {
  const asked = request.headers.get('access-control-request-headers') ?? ''
  const echo = asked.length <= MAX_HEADER_CHARS && HEADER_NAMES.test(asked)
  headers.set('Access-Control-Allow-Methods', 'GET, POST, PATCH, DELETE, OPTIONS')
  headers.set('Access-Control-Allow-Headers', echo ? asked : USUAL_HEADERS)
  headers.set('Access-Control-Max-Age', DAY_SECONDS)
  headers.set('Vary', 'Access-Control-Request-Headers')
  headers.delete('Content-Type')
}
