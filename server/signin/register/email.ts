/** Parses e-mail addresses from user input (hardening §3.1). */

const LONGEST = 254
const MAX_LOCAL = 64

/** RFC 5321's dot-string, with letters of any script; quoted strings are refused. */
const LOCAL = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** The address with its domain in lower-case ASCII; undefined if invalid. Nothing else is normalised: `a+b` is not `a`. */
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

/** The key for looking up an address. Look-alike letters stay distinct. */
export const emailKey = (email: string): string => email.toLowerCase()

function toAscii(domain: string): string | undefined {
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)) return undefined
  const host = URL.parse(`http://${domain}/`)?.hostname
  // The URL parser turns numbers into IP addresses, which are not mail domains.
  return host === undefined || /^[\d.]+$/.test(host) ? undefined : host
}
