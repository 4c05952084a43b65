/**
 * Browsers in which an address was verified before. A stranger's requests for codes to that address do not count against them.
 * Stateless: a cookie with a random name and, for each address, a MAC over both, which shows nobody which addresses they are.
 */
import { createHmac } from 'node:crypto'
import { digestOf, randomSecret, sameDigest } from './register/digest.ts'
import { emailKey } from './register/email.ts'

export interface KnownBrowsers {
  /** What the limits count the browser by; null if the address was not verified in it. */
  recognise(request: Request, email: string): string | null
  /** The `Set-Cookie` of a browser in which the address was just verified. */
  remember(request: Request, email: string): string
}

/** The addresses of a shared computer; the one verified longest ago is forgotten first. */
const MAX_EMAILS = 16
/** The longest that browsers keep a cookie. */
const MAX_AGE_SECONDS = 400 * 24 * 3600
/** Characters of base64url: 132 bits. */
const CHARS = 22
const PART = new RegExp(`^[\\w-]{${CHARS}}$`)

/** `pepper` is a secret of the keyring. */
export function openKnownBrowsers(issuer: string, pepper: string): KnownBrowsers {
  const isSecure = issuer.startsWith('https:')
  const name = isSecure ? '__Secure-known' : 'known'
  const attributes = `Path=/sign-in; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  const cookie = new RegExp(`(?:^|;) *${name}=([^;]*)`)

  const read = ({ headers }: Request): readonly string[] =>
    (cookie.exec(headers.get('cookie') ?? '')?.[1] ?? '')
      .split('.')
      .filter((part) => PART.test(part))
      .slice(0, 1 + MAX_EMAILS)
  const macOf = (browser: string, email: string): string =>
    createHmac('sha256', pepper)
      .update(`known browser\n${browser}\n${emailKey(email)}`)
      .digest('base64url')
      .slice(0, CHARS)

  return {
    recognise(request, email) {
      const [browser, ...macs] = read(request)
      if (browser === undefined) return null
      const mac = macOf(browser, email)
      return macs.some((one) => sameDigest(one, mac)) ? `browser:${digestOf(browser)}` : null
    },
    remember(request, email) {
      const [browser = randomSecret().slice(0, CHARS), ...macs] = read(request)
      const mac = macOf(browser, email)
      const others = macs.filter((one) => one !== mac).slice(0, MAX_EMAILS - 1)
      return `${name}=${[browser, mac, ...others].join('.')}; ${attributes}`
    },
  }
}
