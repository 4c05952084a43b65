/** A cookie of a browser in which somebody said that they want no passkey now: it is not offered there again for a while. */

const MAX_AGE_SECONDS = 90 * 24 * 3600

const nameOf = (issuer: string): string =>
  issuer.startsWith('https:') ? '__Secure-no-passkey' : 'no-passkey'

/** The `Set-Cookie` for it. */
export const declinePasskey = (issuer: string): string =>
  `${nameOf(issuer)}=1; Path=/sign-in; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${issuer.startsWith('https:') ? '; Secure' : ''}`

export const isDeclined = (issuer: string, { headers }: Request): boolean =>
  new RegExp(`(?:^|;) *${nameOf(issuer)}=1`).test(headers.get('cookie') ?? '')
