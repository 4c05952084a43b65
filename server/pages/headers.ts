/** The headers that every page has (hardening §3.1). */

export interface PageSources {
  /** Where forms may end after redirects, beside this origin. */
  readonly formTargets?: readonly string[]
  readonly isHttps: boolean
  /** The CSP directives of what the page loads or runs. */
  readonly sources: readonly string[]
}

/**
 * The headers of a page. `same-origin` rather than `no-referrer`, under which Chromium posts forms with
 * `Origin: null`, and the check for forged posts would refuse them. `sources` are the CSP directives of what it loads or runs.
 */
export function pageHeaders({
  formTargets = [],
  isHttps,
  sources,
}: PageSources): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    ...sources,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ["form-action 'self'", ...formTargets].join(' '),
  ]
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
    Vary: 'Accept-Language',
    ...(isHttps && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
}
