/** Which source in `form-action` lets a form's redirect chain end at a client (hardening §3.1). */

/** What may stand in a policy without ending its directive: a host may well hold `;`. */
const CSP_SOURCE = /^https?:\/\/[a-z0-9.-]+(:\d+)?$/

/**
 * The source for an address: its origin, or its scheme where an origin cannot be said, as with `com.example.app:/back`
 * and with an IPv6 host, for which CSP has no grammar. Undefined for what is no address.
 */
export function formTarget(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, origin } = new URL(address)
  return CSP_SOURCE.test(origin) ? origin : protocol
}
