/** The address that was typed and refused, kept in a cookie of the interaction until the page shows it again. */
import { interactionPath } from './provider.ts'

const MAX_AGE_SECONDS = 3600
const MAX_CHARS = 254

const nameOf = (issuer: string): string =>
  issuer.startsWith('https:') ? '__Secure-typed' : 'typed'

/** The `Set-Cookie` for it. */
export function keepTyped(issuer: string, uid: string, typed: string): string {
  const value = encodeURIComponent(typed.slice(0, MAX_CHARS).toWellFormed())
  const attributes = `Path=${interactionPath(uid)}; Max-Age=${MAX_AGE_SECONDS}; HttpOnly; SameSite=Lax`
  return `${nameOf(issuer)}=${value}; ${attributes}${issuer.startsWith('https:') ? '; Secure' : ''}`
}

/** Undefined if there is none. */
export function readTyped(issuer: string, { headers }: Request): string | undefined {
  const cookie = new RegExp(`(?:^|;) *${nameOf(issuer)}=([^;]*)`)
  const value = cookie.exec(headers.get('cookie') ?? '')?.[1]
  if (value === undefined) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
