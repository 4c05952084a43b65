/** The metrics endpoint: requires the token or, without one, a local `Host` header. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

const TEXT = 'text/plain; charset=utf-8'
const METRICS_TEXT = 'text/plain; version=0.0.4; charset=utf-8'

/** Serves only `GET /metrics`. Concurrent requests share one scrape. */
export function metricsApp(
  token: string | null,
  scrape: () => Promise<string>,
): (request: Request) => Promise<Response> {
  let inProgress: Promise<string> | null = null
  return async (request) => {
    if (URL.parse(request.url)?.pathname !== '/metrics')
      return refuse(404, 'metrics are at /metrics')
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return refuse(405, 'metrics are read by GET', { Allow: 'GET, HEAD' })
    }
    if (token === null && !hasLocalHost(request)) {
      return refuse(403, 'without a token metrics are for this machine alone')
    }
    if (token !== null && !hasToken(token, request)) {
      return refuse(401, 'metrics want their token', { 'WWW-Authenticate': 'Bearer' })
    }
    inProgress ??= scrape().finally(() => {
      inProgress = null
    })
    return new Response(await inProgress, { headers: { 'Content-Type': METRICS_TEXT } })
  }
}

/**
 * Prevents DNS rebinding: a web page can point its own host name at this machine, but its requests then have that name in the
 * `Host` header.
 */
function hasLocalHost(request: Request): boolean {
  const name = (request.headers.get('host') ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  return name === 'localhost' || isIP(name) !== 0
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function hasToken(token: string, request: Request): boolean {
  const shown = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  return shown !== undefined && timingSafeEqual(digest(shown), digest(token))
}

const refuse = (
  status: number,
  words: string,
  headers: Readonly<Record<string, string>> = {},
): Response => new Response(`${words}\n`, { status, headers: { 'Content-Type': TEXT, ...headers } })
