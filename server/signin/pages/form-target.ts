/** Which source in `form-action` lets a form's redirect chain end at a client (hardening §3.1). */

/**
 * The source for an address: its origin, or its scheme where an origin cannot be said, as with `com.example.app:/back`
 * and with an IPv6 host, for which CSP has no grammar. Undefined for what is no address.
 */
export function formTarget(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, origin, hostname } = new URL(address)
  const named = protocol === 'https:' || protocol === 'http:'
  return named && !hostname.startsWith('[') ? origin : protocol
}
