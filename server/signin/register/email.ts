/** E-mail addresses as people type them (hardening §3.1). */

const LONGEST = 254
const MAX_LOCAL = 64

/** RFC 5321's dot-string, with letters of any script; what needs quotes is refused. */
const LOCAL = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** The address, its domain in lower case and ASCII; undefined for what is none. Nothing else is folded: `a+b` is not `a`. */
export function readEmail(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return undefined
  const typed = text.trim().normalize('NFC')
  const at = typed.lastIndexOf('@')
  const local = typed.slice(0, at)
  const domain = toAscii(typed.slice(at + 1))
  if (at < 1 || domain === undefined || !LOCAL.test(local) || !DOMAIN.test(domain)) return undefined
  const email = `${local}@${domain}`
  const isShort = Buffer.byteLength(local) <= MAX_LOCAL && Buffer.byteLength(email) <= LONGEST
  return isShort ? email : undefined
}

/** By which an address is looked up. Letters that merely look alike stay different. */
export const emailKey = (email: string): string => email.toLowerCase()

function toAscii(domain: string): string | undefined {
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)) return undefined
  const host = URL.parse(`http://${domain}/`)?.hostname
  // A number is no mail domain, whatever a URL makes of it.
  return host === undefined || /^[\d.]+$/.test(host) ? undefined : host
}
